extension Plan {
    var chains: [Experiment] {
        let depths = [1, 2, 4, 8, 16]
        return [
            experiment(
                "chain",
                [
                    programs.ours("chain"),
                    programs.erlang(["chain", "20000"] + depths.map(String.init), label: "Erlang gen_servers that forward"),
                ],
                depths.map { depth in
                    Figure(
                        name: "ask that climbs \(depth) \(depth == 1 ? "level" : "levels") in one process, p50",
                        key: "p50/\(depth)",
                        unit: .microseconds,
                        reference: "Erlang gen_servers that forward",
                        point: .line(.chain, at: Double(depth))
                    )
                }
            )
        ]
    }

    var fanOuts: [Experiment] {
        let fromWorker = "\(Programs.ours), from a worker"
        let numbers = [1, 10, 100]
        let expected = Duration.milliseconds(milliseconds) * numbers.count + .seconds(2)
        return [
            experiment(
                "fan-out",
                [
                    programs.ours("fan-out", "milliseconds=\(milliseconds)", expected: expected),
                    programs.erlang(["fan_out", "\(milliseconds)"] + numbers.map(String.init), label: "Erlang !", expected: expected),
                    programs.ours("fan-out", "place=worker", "milliseconds=\(milliseconds)", label: fromWorker, expected: expected),
                ],
                numbers.map { number in
                    Figure(
                        name: "events delivered in one process, to \(number) at a time",
                        key: "rate/\(number)",
                        unit: .perSecond,
                        reference: "Erlang !",
                        point: .line(.fanOut, at: Double(number))
                    )
                }
                    + numbers.map { number in
                        Figure(
                            name: "events of a worker delivered to \(number) at a time",
                            key: "rate/\(number)",
                            unit: .perSecond,
                            subject: fromWorker,
                            reference: Programs.ours
                        )
                    }
            )
        ]
    }
}
