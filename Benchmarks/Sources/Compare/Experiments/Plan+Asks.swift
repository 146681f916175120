extension Plan {
    var asks: [Experiment] {
        [
            asks("asks-across", "worker", "remote", "across processes", .asksAcross),
            asks("asks-in-process", "local", "local", "in one process", .asksInProcess),
        ]
    }

    private func asks(_ name: String, _ place: String, _ erlangPlace: String, _ description: String, _ plot: Plot) -> Experiment {
        let numbers = quick ? [256] : [1, 16, 64, 256, 1_024]
        let expected = Duration.milliseconds(milliseconds + 300) * numbers.count + .seconds(2)
        let list = numbers.map(String.init).joined(separator: ",")
        let erlang = ["asks", erlangPlace, "\(milliseconds)"] + numbers.map(String.init)
        return experiment(
            name,
            [
                programs.ours("asks", "place=\(place)", "concurrency=\(list)", "milliseconds=\(milliseconds)", expected: expected),
                programs.erlang(erlang, label: "Erlang gen_server:call", expected: expected),
                programs.caf(erlang, expected: expected),
            ],
            numbers.map { number in
                Figure(
                    name: "asks \(description), \(number) concurrent",
                    key: "rate/\(number)",
                    unit: .perSecond,
                    reference: "Erlang gen_server:call",
                    requirement: number == 256 ? .ratio(.atLeast, gate: 3, goal: 5) : nil,
                    point: .line(plot, at: Double(number))
                )
            } + [
                Figure(
                    name: "processor time of an ask \(description), both sides, 256 concurrent",
                    key: "processor/256",
                    unit: .microseconds,
                    reference: "Erlang gen_server:call"
                )
            ]
        )
    }
}
