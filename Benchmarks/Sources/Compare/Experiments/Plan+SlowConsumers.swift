extension Plan {
    /// Ten fast senders to a coordinator that handles one message a second, and another worker's asks beside them.
    var slowConsumers: [Experiment] {
        [
            experiment(
                "slow-consumer",
                [programs.ours("slow-consumer", expected: .seconds(30))],
                [
                    Figure(
                        name: "memory behind a slow consumer, of what mailbox and windows allow",
                        key: "memory",
                        unit: .percent,
                        requirement: .value(.atMost, gate: 110)
                    ),
                    Figure(
                        name: "asks of another link beside a slow consumer, of those without",
                        key: "throughput",
                        unit: .percent,
                        requirement: .value(.atLeast, gate: 95)
                    ),
                    Figure(
                        name: "description of a sender to a slow consumer, p99",
                        key: "ping",
                        unit: .milliseconds,
                        requirement: .value(.atMost, gate: 100)
                    ),
                ],
                rounds: quick ? 1 : 3
            )
        ]
    }
}
