"""What Lambda does: functions as the template declares them, their environments, queues and schedules."""
