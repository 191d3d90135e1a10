"""Tests of duration.py and report.py. Run them with: python3 -m unittest"""

import unittest

from duration import DAY, HOUR, MINUTE, format_duration, parse_duration
from report import report, totals


class ParseDuration(unittest.TestCase):
    def test_a_single_unit(self):
        self.assertEqual(parse_duration("90s"), 90)

    def test_several_units(self):
        self.assertEqual(parse_duration("1d 2h 3m 4s"), DAY + 2 * HOUR + 3 * MINUTE + 4)

    def test_spaces_do_not_matter(self):
        self.assertEqual(parse_duration(" 1h30 m "), HOUR + 30 * MINUTE)

    def test_nothing_is_no_time(self):
        self.assertEqual(parse_duration(""), 0)

    def test_a_unit_nobody_knows_is_refused(self):
        with self.assertRaises(ValueError):
            parse_duration("3 fortnights")

    def test_a_number_without_unit_is_refused(self):
        with self.assertRaises(ValueError):
            parse_duration("1h 30")


class FormatDuration(unittest.TestCase):
    def test_no_time(self):
        self.assertEqual(format_duration(0), "0s")

    def test_several_units(self):
        self.assertEqual(format_duration(DAY + 2 * HOUR + 3 * MINUTE + 4), "1d 2h 3m 4s")

    def test_units_that_are_zero_are_left_out(self):
        self.assertEqual(format_duration(2 * DAY + 5), "2d 5s")

    def test_more_than_a_day_of_hours(self):
        self.assertEqual(format_duration(49 * HOUR), "2d 1h")

    def test_exactly_one_of_each_unit(self):
        self.assertEqual(format_duration(1), "1s")
        self.assertEqual(format_duration(MINUTE), "1m")
        self.assertEqual(format_duration(HOUR), "1h")
        self.assertEqual(format_duration(DAY), "1d")

    def test_parse_and_format_agree(self):
        for seconds in range(0, 3 * DAY, 61):
            self.assertEqual(parse_duration(format_duration(seconds)), seconds)


class Report(unittest.TestCase):
    def test_times_of_a_task_are_added(self):
        self.assertEqual(totals(["garden 1h", "garden 30m"]), {"garden": 90 * MINUTE})

    def test_comments_and_empty_lines_are_skipped(self):
        self.assertEqual(totals(["# Monday", "", "read 10m # novel"]), {"read": 10 * MINUTE})

    def test_the_longest_comes_first(self):
        lines = ["read 10m", "garden 1h 30m"]
        self.assertEqual(report(lines), "garden      1h 30m\nread        10m")


if __name__ == "__main__":
    unittest.main()
