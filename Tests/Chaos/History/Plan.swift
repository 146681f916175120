/// The settings of a run, which the driver hands to all processes of the tree in their environment.
package struct Plan: Hashable, Sendable {
    /// The variable of the environment.
    package static let variable = "CHAOS_PLAN"
    /// The numbers that a path's component may have: `p0` to `p7`, `l0` to `l7`.
    package static let places = 8

    /// The directory of the run.
    package var directory = ""
    package var seed: UInt64 = 0
    /// The number of leaves in all.
    package var workers = 20
    package var parents = 5
    package var senders = 4
    /// The members of a pool below the root; a daemon has none.
    package var pool = 0
    /// The messages that each sender sends in a second.
    package var rate = 100
    /// The messages of one sender that may be open at a time.
    package var window = 64
    /// The restarts that are allowed in a second.
    package var intensity = 100_000
    /// The delay of a second restart, doubling to the tenfold.
    package var backoffMilliseconds = 0
    /// The restarts of workers that each process may make in a second, and twice as many at once.
    package var bucket = 1_000
    /// The time for which workers may outlive the root.
    package var graceMilliseconds = 10_000
    /// The time for which links are held back; those that are broken are there again by then.
    package var clogMilliseconds = 300

    /// Creates the defaults.
    package init() {}

    /// The directory of the tree's sockets.
    package var runtimeDirectory: String { "\(directory)/run" }
    /// The file that exists while senders send.
    package var sendingFile: String { "\(directory)/sending" }
    /// The directory of the history.
    package var historyDirectory: String { "\(directory)/history" }
    /// The file of the lives' beginnings and ends, to which all processes append.
    package var livesFile: String { "\(historyDirectory)/lives" }

    /// Returns the number of the leaves below a parent.
    package func leaves(of parent: Int) -> Int { workers / parents + (parent < workers % parents ? 1 : 0) }
}

extension Plan: LosslessStringConvertible {
    private static var fields: [(String, WritableKeyPath<Plan, Int>)] {
        [
            ("workers", \.workers), ("parents", \.parents), ("senders", \.senders), ("pool", \.pool), ("rate", \.rate),
            ("window", \.window),
            ("intensity", \.intensity), ("backoff", \.backoffMilliseconds), ("bucket", \.bucket), ("grace", \.graceMilliseconds),
            ("clog", \.clogMilliseconds),
        ]
    }

    /// The settings as text, such as `seed=1 workers=20 directory=/tmp/chaos`.
    package var description: String {
        let numbers = Self.fields.map { "\($0.0)=\(self[keyPath: $0.1])" }
        return (["seed=\(seed)"] + numbers + ["directory=\(directory)"]).joined(separator: " ")
    }

    /// Reads the settings; `nil` when a field is unknown or senseless.
    package init?(_ text: String) {
        self.init()
        let fields = Dictionary(uniqueKeysWithValues: Self.fields)
        for word in text.split(separator: " ") {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            switch parts[0] {
            case "directory": directory = String(parts[1])
            case "seed":
                guard let number = UInt64(parts[1]) else { return nil }
                seed = number
            case let name:
                guard let field = fields[String(name)], let number = Int(parts[1]) else { return nil }
                self[keyPath: field] = number
            }
        }
    }
}
