import Supervision
import WireProtocol

extension Keys {
    static let schedule = Table("schedule", ScheduleSettings(cron: .hourly)) {
        Key("cron", .cron, \.cron).or("at", "times", "expression", "on_calendar").required("the times, such as `0 3 * * *`")
            .says(
                """
                The times, in cron's five fields: minute, hour, day of the month, month, day of the week; or `@hourly`, `@daily`, \
                `@weekly`, `@monthly`, `@yearly`.
                """
            )
        Key("time_zone", .zone, \.timeZone, default: "the machine's").or("timezone", "tz", "zone")
            .says("The time zone whose clock the times are of, such as `Europe/Berlin` or `UTC`.")
        Key("overlap", .choice, \.overlap).or("concurrency_policy")
            .says(
                """
                What happens at a time at which the former run still goes on: `skip`: nothing; `queue`: the next run begins when it has \
                ended; `restart`: it's stopped, and the next one begins.
                """
            )
        Key("missed", .choice, \.missed).or("persistent", "catch_up")
            .says(
                """
                What happens after times at which no daemon ran, at which the machine slept, or that its clock has left out: `skip`: \
                nothing; `run`: one run makes up for them.
                """
            )
    }
}

extension CronExpression {
    /// What stands for the value that has to be there.
    fileprivate static let hourly: CronExpression = {
        do throws(Problem) {
            return try CronExpression("@hourly")
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}

extension Value<CronExpression> {
    fileprivate static var cron: Value {
        let words = CronExpression.words.keys.sorted().joined(separator: "|")
        let pattern = "^(\(words)|\\s*[^@\\s]\\S*(\\s+\\S+){4}\\s*)$"
        return Value(["type": "string", "pattern": .string(pattern)], show: \.description) { reader, node, name in
            guard let text = reader.text(node, name, expected: "times in cron's five fields, such as `0 3 * * *`") else { return nil }
            do throws(CronExpression.Problem) {
                return try CronExpression(text)
            } catch {
                reader.report(at: node.mark, "\(name) is `\(text)`: \(error)")
                return nil
            }
        }
    }
}

extension Value<String> {
    fileprivate static var zone: Value {
        Value(["type": "string", "minLength": 1]) { reader, node, name in
            guard let zone = reader.text(node, name, expected: "a time zone, such as Europe/Berlin") else { return nil }
            if reader.checksFiles {
                do throws(ZoneRules.Problem) {
                    _ = try ZoneRules.load(zone)
                } catch {
                    reader.report(at: node.mark, "\(name): \(error)")
                }
            }
            return zone
        }
    }
}

extension ConfiguredChild {
    /// Whether the child is started at its times alone, and not with its supervisor.
    package var runsAtTimesAlone: Bool { schedule != nil && restart != .permanent }
}

extension ConfigurationReader {
    /// Reports what a child with times can't have, and gives it what it has by default: it runs to its end, once each time.
    mutating func checkSchedule(_ fields: Fields, _ child: inout ConfiguredChild) {
        guard let node = fields["schedule"] else { return }
        if fields["worker"] != nil || fields["children"] != nil {
            let other = fields["worker"] != nil ? "a worker goes on, and its coordinators have timers" : "a group has no end of its own"
            report(at: node.mark, "`schedule` is for what runs to its end: \(other); expected it at a child with `program` or `oneshot`")
        }
        if fields["placement"] != nil {
            report(at: node.mark, "`schedule` can't be beside `placement`; expected the child in a group that is placed")
        }
        if fields["restart"] == nil {
            child.restart = .temporary
        } else if child.restart == .permanent, let schedule = child.schedule, schedule.overlap != .restart {
            let expected = "`overlap: restart`, which restarts it at the times, or `on_failure` or `never`"
            report(
                at: node.mark,
                "`restart` is `always`: such a child never ends by itself, and each time would be skipped; expected \(expected)"
            )
        }
    }
}
