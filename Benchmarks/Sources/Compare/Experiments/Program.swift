/// A program that prints figures: ours, or a peer's.
struct Program {
    /// What it's called in the table.
    let label: String
    let command: [String]
    var environment: [String: String] = [:]
    /// How long it takes at most when all goes well.
    let expected: Duration

    /// The time after which it's ended.
    var limit: Duration { expected * 3 + .seconds(10) }
}

/// Makes the command lines.
struct Programs {
    /// The label of our program.
    static let ours = "ours"

    let products: String
    let peers: String
    /// A directory for sockets, and for the ports of Erlang's nodes.
    let directory: String
    /// A directory on a disk, for stores.
    let disk: String

    /// Our program, but for durable flows and placed subtrees; its workers are the same file.
    var measure: String { "\(products)/Measure" }

    func ours(_ arguments: String..., label: String = Programs.ours, expected: Duration = .seconds(5)) -> Program {
        ours(arguments, label: label, expected: expected)
    }

    func ours(_ arguments: [String], label: String = Programs.ours, expected: Duration = .seconds(5)) -> Program {
        Program(label: label, command: [measure] + arguments, expected: expected)
    }

    /// A peer in C.
    func native(_ name: String, _ arguments: String..., label: String) -> Program {
        Program(label: label, command: ["\(peers)/\(name)", directory] + arguments, expected: .seconds(5))
    }

    /// The label of the peer in C++.
    static let caf = "CAF"

    /// The actors of CAF, with its default settings.
    func caf(_ arguments: [String], expected: Duration = .seconds(5)) -> Program {
        Program(label: Self.caf, command: ["\(peers)/CAF", directory] + arguments, expected: expected)
    }

    /// A peer in Erlang, on a node that finds the other one without a port mapper.
    func erlang(_ arguments: [String], label: String, expected: Duration = .seconds(5)) -> Program {
        let node = [
            "erl", "-noinput", "-pa", peers, "-epmd_module", "file_epmd", "-start_epmd", "false", "-name", "main@127.0.0.1",
            "-setcookie", "benchmarks", "-kernel", "inet_dist_use_interface", "{127,0,0,1}", "+P", "2000000", "-run", "peers", "main",
        ]
        let environment = ["PEERS_DIRECTORY": directory, "ERL_CRASH_DUMP_SECONDS": "0"]
        return Program(label: label, command: node + arguments, environment: environment, expected: expected)
    }

    /// Ours with durable flows, or another use of their store.
    func flows(_ mode: String, label: String = Programs.ours, expected: Duration = .seconds(10)) -> Program {
        Program(label: label, command: ["\(products)/FlowMeasure", mode, disk], expected: expected)
    }

    /// The label of the peer in Python.
    static let dbos = "DBOS"

    /// DBOS on SQLite.
    var dbos: Program {
        Program(label: Self.dbos, command: ["\(peers)/dbos/bin/python3", "\(peers)/DBOS.py", disk], expected: .seconds(30))
    }

    /// Subtrees of ours that are placed on two nodes, with etcd as their store.
    func placements(_ count: Int, label: String = Programs.ours) -> Program {
        Program(label: label, command: ["\(peers)/placed-subtrees", "\(products)/Placements", "\(count)"], expected: .seconds(20))
    }

    /// Writes ``measure`` anew in large pages, as after an installation: the kernel may have forgotten the file, and read it in small ones.
    var renewal: Program {
        Program(label: Self.ours, command: ["\(peers)/large-pages", "--again", measure], expected: .seconds(5))
    }

    /// A script that measures something of ours.
    func script(_ name: String, _ arguments: String...) -> Program {
        Program(label: Self.ours, command: ["\(peers)/\(name)"] + arguments, expected: .seconds(5))
    }
}
