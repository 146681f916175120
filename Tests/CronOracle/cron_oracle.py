"""Prints the times of cron expressions and the offsets of zones by Python's own database of zones, as JSON.

Usage: cron_oracle.py times ZONE YEARS EXPRESSION…   the times in these years (2012,2038), one list for each expression
       cron_oracle.py offsets ZONE                   pairs of a time and its offset, at regular steps and around each change
"""

import datetime
import json
import sys
import zoneinfo


def numbers(field, first, last):
    found = set()
    for part in field.split(","):
        bounds, _, step = part.partition("/")
        low, _, high = bounds.partition("-")
        low, high = (first, last) if low == "*" else (int(low), int(high or low))
        found.update(range(low, high + 1, int(step or 1)))
    return found


def times(zone, years, expression):
    minute, hour, day, month, weekday = expression.split()
    minutes, hours, days, months = numbers(minute, 0, 59), numbers(hour, 0, 23), numbers(day, 1, 31), numbers(month, 1, 12)
    weekdays = {number % 7 for number in numbers(weekday, 0, 7)}
    found = set()
    for year in years:
        date = datetime.datetime(year, 1, 1)
        while date.year == year:
            is_date, is_weekday = date.day in days, date.isoweekday() % 7 in weekdays
            both = day.startswith("*") or weekday.startswith("*")
            if date.month in months and (is_date and is_weekday if both else is_date or is_weekday):
                for h in hours:
                    for m in minutes:
                        found.update(instants(date + datetime.timedelta(hours=h, minutes=m), zone, hour.startswith("*")))
            date += datetime.timedelta(days=1)
    return sorted(found)


def instants(shown, zone, as_shown):
    both = [int(shown.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1)]
    there = [each for each in both if local(each, zone) == shown]
    if as_shown:
        return there
    if there:
        return [min(there)]
    low, high = min(both), max(both)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if local(middle, zone) > shown else (middle, high)
    return [high]


def local(time, zone):
    return datetime.datetime.fromtimestamp(time, zone).replace(tzinfo=None)


def offset(time, zone):
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return int((epoch + datetime.timedelta(seconds=time)).astimezone(zone).utcoffset().total_seconds())


def offsets(zone):
    step, pairs = 29 * 86_400 + 3_600, []
    for time in range(-2_200_000_000, 7_000_000_000, step):
        pairs.append([time, offset(time, zone)])
        low, high = time, time + step
        if offset(low, zone) == offset(high, zone):
            continue
        first = offset(low, zone)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle, zone) == first else (low, middle)
        pairs += [[low, offset(low, zone)], [high, offset(high, zone)]]
    return pairs


def main(what, zone, *rest):
    zone = zoneinfo.ZoneInfo(zone)
    if what == "offsets":
        print(json.dumps(offsets(zone)))
    else:
        print(json.dumps([times(zone, [int(year) for year in rest[0].split(",")], each) for each in rest[1:]]))


main(*sys.argv[1:])
