"""What Lambda does: functions as the template declares them, their invocations, queues and schedules."""
