from benchmarks import backup_crash_table


def test_a_row_of_the_table_says_how_many_crashes_were_tried_and_that_nothing_was_wrong():
    name, tried, wrong = next(backup_crash_table.backup_rows())

    assert (name, wrong) == ("backup", [])
    assert tried > 50
