import Processes

/// The keys of a program about its start, its checks and its stop.
extension ConfigurationReader {
    mutating func programSettings(_ fields: Fields) -> ProgramSettings {
        var settings = ProgramSettings()
        if let signal = fields["stop_signal"].flatMap({ self.signal($0) }) { settings.stopSignal = signal }
        if let node = fields["exit_codes"] { settings.exitCodes = exitCodes(node) }
        if let time = fields["start_seconds"].flatMap({ self.duration($0, "`start_seconds`") }) { settings.startSeconds = time }
        settings.startTimeout = fields["start_timeout"].flatMap { self.positiveDuration($0, "`start_timeout`") }
        if let readiness = fields["ready"].flatMap({ self.readiness($0) }) { settings.readiness = readiness }
        settings.watchdog = fields["watchdog"].flatMap { self.positiveDuration($0, "`watchdog`") }
        settings.health = fields["health"].flatMap { self.health($0) }
        if let node = fields["sockets"] { settings.sockets = sockets(node) }
        checkDescriptors(of: settings, fields["ready"])
        return settings
    }

    // MARK: Stop

    private static let stopSignals = ["TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "WINCH", "ALRM", "ABRT", "PWR", "KILL"]

    private mutating func signal(_ node: YAMLNode) -> Signal? {
        let text = node.text ?? ""
        let name = text.hasPrefix("SIG") ? String(text.dropFirst(3)) : text
        if Self.stopSignals.contains(name), let signal = Signal(name: name) { return signal }
        report(at: node.mark, "`stop_signal` is \(node.summary); \(Spelling.hint(for: name, among: Self.stopSignals))")
        return nil
    }

    private mutating func exitCodes(_ node: YAMLNode) -> Set<Int32> {
        guard let nodes = list(node, "`exit_codes`", expected: "a list of exit codes, such as [0, 3]") else { return [] }
        return Set(nodes.compactMap { node in wholeNumber(node, "an exit code", in: 0...255).map { Int32($0) } })
    }

    // MARK: Readiness

    private mutating func readiness(_ node: YAMLNode) -> Readiness? {
        if let word = node.text {
            if word == "notify" { return .notify }
            report(
                at: node.mark,
                "`ready` is \(node.summary); expected `notify`, or a mapping with `fd` or `command`, such as { fd: 3 }"
            )
            return nil
        }
        guard let fields = self.fields(node, "`ready`", keys: ["fd", "command", "interval", "timeout"]) else { return nil }
        switch (fields["fd"], fields["command"]) {
        case (let descriptor?, nil): return self.descriptor(descriptor, fields)
        case (nil, let command?): return readyCommand(command, fields)
        default:
            report(at: fields.mark, "`ready` needs one of `fd` and `command`; expected { fd: 3 } or { command: [...] }")
            return nil
        }
    }

    private mutating func descriptor(_ node: YAMLNode, _ fields: Fields) -> Readiness? {
        for key in ["interval", "timeout"] {
            if let node = fields[key] { report(at: node.mark, "`\(key)` belongs to `command`; expected `start_timeout` beside `ready`") }
        }
        return wholeNumber(node, "`fd`", in: 3...255).map { .descriptor(Int32($0)) }
    }

    private mutating func readyCommand(_ node: YAMLNode, _ fields: Fields) -> Readiness? {
        let command = command(node, expected: "a list of a program and its arguments that ends with exit code 0 when all is ready")
        let interval = fields["interval"].flatMap { self.positiveDuration($0, "`interval`") }
        let timeout = fields["timeout"].flatMap { self.positiveDuration($0, "`timeout`") }
        return command.map { .command($0, interval: interval ?? .seconds(1), timeout: timeout ?? .seconds(5)) }
    }

    // MARK: Health

    private mutating func health(_ node: YAMLNode) -> HealthCheck? {
        let keys = ["command", "http", "tcp", "interval", "timeout", "retries", "start_period", "on_failure"]
        guard let fields = self.fields(node, "`health`", keys: keys), let probe = probe(fields) else { return nil }
        var check = HealthCheck(probe)
        if let interval = fields["interval"].flatMap({ self.positiveDuration($0, "`interval`") }) { check.interval = interval }
        if let timeout = fields["timeout"].flatMap({ self.positiveDuration($0, "`timeout`") }) { check.timeout = timeout }
        if let retries = fields["retries"].flatMap({ self.wholeNumber($0, "`retries`", in: 1...1_000) }) { check.retries = retries }
        if let period = fields["start_period"].flatMap({ self.duration($0, "`start_period`") }) { check.startPeriod = period }
        if let response: HealthCheck.Response = fields["on_failure"].flatMap({ self.choice($0, "`on_failure`") }) {
            check.onFailure = response
        }
        return check
    }

    private mutating func probe(_ fields: Fields) -> HealthCheck.Probe? {
        switch (fields["command"], fields["http"], fields["tcp"]) {
        case (let node?, nil, nil):
            return command(node, expected: "a list of a program and its arguments").map { .command($0) }
        case (nil, let node?, nil): return http(node)
        case (nil, nil, let node?): return port(node).map { .tcp(port: $0) }
        default:
            report(at: fields.mark, "`health` needs one of `command`, `http` and `tcp`; expected such as { tcp: 5432 }")
            return nil
        }
    }

    private mutating func port(_ node: YAMLNode) -> UInt16? {
        if let (port, path) = Self.address(node.text ?? ""), path.isEmpty { return port }
        return wholeNumber(node, "`tcp`", in: 1...65_535, or: ", a port of this machine").map { UInt16($0) }
    }

    private mutating func http(_ node: YAMLNode) -> HealthCheck.Probe? {
        let text = node.text ?? ""
        let scheme = "http://"
        if text.hasPrefix(scheme), let (port, path) = Self.address(String(text.dropFirst(scheme.count)), defaultPort: 80) {
            return .http(port: port, path: path.isEmpty ? "/" : path)
        }
        report(at: node.mark, "`http` is \(node.summary); expected an address on this machine, such as http://127.0.0.1:8080/health")
        return nil
    }

    /// Reads `127.0.0.1:8080/path`, with one of the names of this machine.
    private static func address(_ text: String, defaultPort: UInt16? = nil) -> (port: UInt16, path: String)? {
        guard let host = ["127.0.0.1", "localhost", "[::1]"].first(where: text.hasPrefix) else { return nil }
        let rest = text.dropFirst(host.count)
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        let path = String(rest[end...])
        // The path becomes a part of a request, in which a space ends it.
        guard path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        if rest[..<end].isEmpty { return defaultPort.map { ($0, path) } }
        guard rest.hasPrefix(":"), let port = UInt16(rest[..<end].dropFirst()), port > 0 else { return nil }
        return (port, path)
    }
}
