import ChaosHistory

/// A verdict as a table and as JSON.
struct Report {
    private let verdict: Verdict
    private let seed: UInt64
    /// What kept the run from being carried out.
    private let problem: String?
    private let recoveryLimit: Double

    init(_ verdict: Verdict, seed: UInt64, problem: String?, recoveryLimit: Double) {
        (self.verdict, self.seed, self.problem, self.recoveryLimit) = (verdict, seed, problem, recoveryLimit)
    }

    var isOK: Bool { verdict.isOK && problem == nil && isFast }

    private var isFast: Bool { recoveryLimit <= 0 || verdict.recoveries.percentile(99).map { $0 <= recoveryLimit } ?? true }

    /// `ok`, or the rules that were broken.
    private var word: String {
        if isOK { return "ok" }
        let rules = Verdict.Rule.allCases.filter { verdict.counts[$0, default: 0] > 0 }.map(\.rawValue)
        return (rules + (problem == nil ? [] : ["not_carried_out"]) + (isFast ? [] : ["slow"])).joined(separator: ",")
    }
}

// MARK: - Text

extension Report {
    var text: String {
        var lines = ["", Self.row("fault", "against", "injected", "survived", "lost")]
        for row in verdict.faults {
            lines.append(Self.row(row.fault.rawValue, Self.name(of: row.role), "\(row.injected)", "\(row.survived)", "\(row.lost)"))
        }
        lines += ["", messages, recoveries]
        let adoption = verdict.adoption
        if adoption.rootsKilled > 0 {
            lines.append("roots killed \(adoption.rootsKilled): workers adopted \(adoption.adopted), replaced \(adoption.replaced)")
        }
        lines += [leaks, ""]
        for rule in Verdict.Rule.allCases { lines.append("\(rule.rawValue): \(verdict.counts[rule, default: 0])") }
        for violation in verdict.violations { lines.append("  \(violation.rule.rawValue): \(violation.text)") }
        if let problem { lines.append("  \(problem)") }
        lines.append("verdict: \(word)")
        return lines.joined(separator: "\n")
    }

    private static func row(_ words: String...) -> String {
        words.map { $0 + String(repeating: " ", count: max(12 - $0.count, 1)) }.joined()
    }

    private static func name(of role: Record.Role) -> String {
        switch role {
        case .leaf: "workers"
        case .sender: "senders"
        case .parent: "parents"
        case .root: "daemon"
        }
    }

    private var messages: String {
        let messages = verdict.messages
        let failures = messages.failures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return """
            messages: \(messages.sent) sent, \(messages.acknowledged) acknowledged, \(messages.executions) executions, \
            \(messages.plainLost) unacknowledged ones lost, \(messages.abandoned) abandoned by senders that died; \
            errors: \(failures.isEmpty ? "none" : failures)
            """
    }

    private var recoveries: String {
        let parts = [Record.Role.leaf, .sender, .parent, .root].compactMap { role -> String? in
            guard let times = verdict.recoveriesByRole[role], let p50 = times.percentile(50), let p99 = times.percentile(99) else {
                return nil
            }
            return "\(Self.name(of: role)) p50 \(Self.number(p50)) ms, p99 \(Self.number(p99)) ms of \(times.milliseconds.count)"
        }
        return "kill to ready: \(parts.isEmpty ? "no kill" : parts.joined(separator: "; "))"
    }

    private var leaks: String {
        let leaks = verdict.leaks
        let slopes = leaks.slopes.map { slopes in
            "; in a minute \(Self.number(slopes.kibibytes)) KiB, \(Self.number(slopes.descriptors)) descriptors, \(Self.number(slopes.threads)) threads"
        }
        return """
            the root, after less before: \(leaks.descriptors) descriptors, \(leaks.threads) threads, \(leaks.sockets) files, memory \
            \(Self.number(leaks.memoryPercent)) %; \(leaks.zombies) zombies, \(leaks.processes) processes left\(slopes ?? "")
            """
    }

    /// A number with one digit behind the point.
    private static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}

// MARK: - JSON

extension Report {
    var json: String {
        let leaks = verdict.leaks
        func count(_ rule: Verdict.Rule) -> String { "\(verdict.counts[rule, default: 0])" }
        func time(_ times: Verdict.Times?, _ share: Double) -> String { times?.percentile(share).map { Self.number($0) } ?? "null" }
        var fields = [("verdict", "\"\(word)\"")]
        for rule in [Verdict.Rule.acknowledgedLost, .executedTwice, .livedTwice, .unresolved] {
            fields.append((rule.rawValue, count(rule)))
        }
        fields += [
            ("recovery_p50_ms", time(verdict.recoveries, 50)), ("recovery_p99_ms", time(verdict.recoveries, 99)),
            (
                "leaks",
                Self.object([
                    ("descriptors", "\(leaks.descriptors)"), ("threads", "\(leaks.threads)"), ("zombies", "\(leaks.zombies)"),
                    ("sockets", "\(leaks.sockets)"), ("processes", "\(leaks.processes)"),
                    ("memory_percent", Self.number(leaks.memoryPercent)),
                    ("memory_kib_per_minute", leaks.slopes.map { Self.number($0.kibibytes) } ?? "null"),
                    ("descriptors_per_minute", leaks.slopes.map { Self.number($0.descriptors) } ?? "null"),
                    ("threads_per_minute", leaks.slopes.map { Self.number($0.threads) } ?? "null"),
                ])
            ),
            ("seed", "\(seed)"),
        ]
        for rule in [Verdict.Rule.executedAgain, .outOfOrder, .notBack, .leaked] { fields.append((rule.rawValue, count(rule))) }
        fields += [
            ("adopted", "\(verdict.adoption.adopted)"), ("replaced", "\(verdict.adoption.replaced)"),
            ("sent", "\(verdict.messages.sent)"), ("acknowledged", "\(verdict.messages.acknowledged)"),
            ("executions", "\(verdict.messages.executions)"), ("plain_lost", "\(verdict.messages.plainLost)"),
            ("daemon_recovery_p50_ms", time(verdict.recoveriesByRole[.root], 50)),
            ("daemon_recovery_p99_ms", time(verdict.recoveriesByRole[.root], 99)),
            ("faults", "[\(verdict.faults.map(Self.object(of:)).joined(separator: ","))]"),
        ]
        return Self.object(fields)
    }

    private static func object(of row: Verdict.FaultRow) -> String {
        object([
            ("fault", "\"\(row.fault.rawValue)\""), ("against", "\"\(name(of: row.role))\""), ("injected", "\(row.injected)"),
            ("survived", "\(row.survived)"), ("lost", "\(row.lost)"),
        ])
    }

    /// The values are JSON already, and the names need no escapes.
    private static func object(_ fields: [(String, String)]) -> String {
        "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }
}
