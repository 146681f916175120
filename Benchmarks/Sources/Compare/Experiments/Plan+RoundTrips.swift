extension Plan {
    var roundTrips: [Experiment] { [roundTripsAcross, roundTripsInProcess, unhandled] }

    private var roundTripsAcross: Experiment {
        let awaiting = "\(Programs.ours), row that awaits"
        let inline = "\(Programs.ours), inline row"
        let serial = "\(Programs.ours), serial row"
        let threeBorders = "\(Programs.ours), three borders"
        let suspended = "\(Programs.ours), no busy wait"
        let inlineSuspended = "\(Programs.ours), inline row, no busy wait"
        // Like with like: what sleeps beside what sleeps, where as many threads are woken in C that posts a read when it waits. What waits busily
        // beside what waits busily, and has a read under way at any time, of which nng calls back.
        let nng = "C on nng streams"
        let callbacks = "\(nng), callbacks"
        let busyNNG = "\(callbacks), busy wait"
        let busyPosting = "\(nng), busy wait"
        let erlang = "Erlang gen_server:call"
        return experiment(
            "round-trip-across",
            [
                programs.ours("round-trips", "place=worker"),
                programs.ours("round-trips", "place=worker", "row=inline", label: inline),
                programs.ours("round-trips", "place=worker", "busy-wait=0", label: suspended),
                programs.ours("round-trips", "place=worker", "row=inline", "busy-wait=0", label: inlineSuspended),
                programs.native("NNGStreams", label: nng),
                programs.native("NNGStreams", "busy", label: busyPosting),
                programs.native("NNGCallbacks", label: callbacks),
                programs.native("NNGCallbacks", "busy", label: busyNNG),
                programs.ours("round-trips", "place=worker", "row=awaiting", label: awaiting),
                programs.ours("round-trips", "place=worker", "row=serial", label: serial),
                programs.ours("round-trips", "place=worker", "levels=3", label: threeBorders),
                programs.erlang(["round_trips", "remote", "call", "10000"], label: erlang),
                programs.native("SocketPair", label: "C on a socketpair"),
                programs.native("NNGPair", label: "C on nng pair0"),
                programs.native("ZeroMQ", label: "C on ZeroMQ"),
                programs.caf(["round-trips", "remote", "10000"]),
            ],
            [
                Figure(
                    name: "ask across processes, 64 B, ordinary row, p50",
                    key: "p50",
                    unit: .microseconds,
                    reference: busyNNG,
                    requirement: .ratio(.atMost, gate: 1.3, goal: 1.1),
                    point: .bar(.roundTrips)
                ),
                Figure(name: "ask across processes, 64 B, ordinary row, p99", key: "p99", unit: .microseconds, reference: busyNNG),
                Figure(
                    name: "ask across processes, 64 B, inline row, p50",
                    key: "p50",
                    unit: .microseconds,
                    subject: inline,
                    reference: busyNNG,
                    besides: [busyPosting, erlang],
                    requirement: .ratio(.atMost, gate: 1.3, goal: 1.1)
                ),
                Figure(
                    name: "ask across processes, 64 B, ordinary row, no busy wait, p50",
                    key: "p50",
                    unit: .microseconds,
                    subject: suspended,
                    reference: nng,
                    besides: [callbacks],
                    requirement: .ratio(.atMost, gate: 1.6, goal: 1.3)
                ),
                Figure(
                    name: "ask across processes, 64 B, inline row, no busy wait, p50",
                    key: "p50",
                    unit: .microseconds,
                    subject: inlineSuspended,
                    reference: nng,
                    besides: [callbacks],
                    requirement: .ratio(.atMost, gate: 1.3, goal: 1.1)
                ),
                Figure(
                    name: "ask across processes, 64 B, serial row, p50",
                    key: "p50",
                    unit: .microseconds,
                    subject: serial,
                    reference: Programs.ours
                ),
                Figure(
                    name: "ask across processes, 64 B, row that awaits, p50",
                    key: "p50",
                    unit: .microseconds,
                    subject: awaiting,
                    reference: Programs.ours
                ),
                Figure(
                    name: "ask over three borders, 64 B, ordinary row, p50",
                    key: "p50",
                    unit: .microseconds,
                    subject: threeBorders,
                    reference: Programs.ours
                ),
            ]
        )
    }

    private var roundTripsInProcess: Experiment {
        let awaiting = "\(Programs.ours), row that awaits"
        let inline = "\(Programs.ours), inline row"
        return experiment(
            "round-trip-in-process",
            [
                programs.ours("round-trips"),
                programs.erlang(["round_trips", "local", "call", "20000"], label: "Erlang gen_server:call"),
                programs.erlang(["round_trips", "local", "process", "20000"], label: "Erlang process"),
                programs.caf(["round-trips", "local", "20000"]),
                programs.ours("round-trips", "row=inline", label: inline),
                programs.ours("round-trips", "row=awaiting", label: awaiting),
            ],
            [
                Figure(
                    name: "ask in one process, p50",
                    key: "p50",
                    unit: .microseconds,
                    reference: "Erlang gen_server:call",
                    requirement: .value(.atMost, gate: 0.3, goal: 0.15)
                ),
                Figure(
                    name: "ask in one process, inline row, p50",
                    key: "p50",
                    unit: .microseconds,
                    subject: inline,
                    reference: Programs.ours
                ),
                Figure(
                    name: "ask in one process, row that awaits, p50",
                    key: "p50",
                    unit: .microseconds,
                    subject: awaiting,
                    reference: Programs.ours
                ),
            ]
        )
    }

    private var unhandled: Experiment {
        let across = "\(Programs.ours), across processes"
        return experiment(
            "unhandled",
            [programs.ours("unhandled"), programs.ours("unhandled", "place=worker", label: across)],
            [
                Figure(
                    name: "unhandled ask in process, p50",
                    key: "p50",
                    unit: .microseconds,
                    requirement: .value(.atMost, gate: 1, goal: 0.6)
                ),
                Figure(name: "unhandled ask across processes, p50", key: "p50", unit: .microseconds, subject: across),
            ]
        )
    }
}
