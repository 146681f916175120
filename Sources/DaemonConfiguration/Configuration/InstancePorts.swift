import Processes

/// The ports of a program that have the number of an instance in them, as the file has them.
///
/// A port is a number, which can't hold the sign: what is read is the port of the first instance, and each instance gets its own from here.
struct InstancePorts: Codable, Hashable, Sendable {
    /// The text of `tcp` or `http` in `ready`.
    private var ready: String?
    /// The text of `tcp` or `http` in `health`.
    private var health: String?
    /// The texts of `listen`, by the places of the sockets in their list.
    private var sockets: [Int: String] = [:]

    /// Finds the ports in a program's mapping; nil: none has the sign.
    ///
    /// - Parameter note: Gets each of them with its key.
    init?(_ program: YAMLNode, note: (_ key: String, _ node: YAMLNode, _ text: String) -> Void) {
        func text(_ key: String, in mapping: YAMLNode?) -> String? {
            guard let node = mapping?[key], let text = node.text, Self.first(text) != text else { return nil }
            // What isn't even a port of the first instance was reported when the value was read.
            guard Self.port(text, of: InstanceNumber(1, of: 1)) != nil else { return nil }
            note(key, node, text)
            return text
        }
        ready = text("tcp", in: program["ready"]) ?? text("http", in: program["ready"])
        health = text("tcp", in: program["health"]) ?? text("http", in: program["health"])
        for (place, socket) in (program["sockets"]?.elements ?? []).enumerated() { sockets[place] = text("listen", in: socket) }
        if ready == nil, health == nil, sockets.isEmpty { return nil }
    }

    /// Returns a port or an address as the first instance has it; what follows a slash, such as a path, isn't changed.
    static func first(_ text: String) -> String { filling(text, with: InstanceNumber(1, of: 1)) }

    private static func filling(_ text: String, with number: InstanceNumber) -> String {
        let address = text.hasPrefix("http://") ? text.dropFirst(7) : text[...]
        let end = address.firstIndex(of: "/") ?? text.endIndex
        return number.filling(String(text[..<end])) + text[end...]
    }

    /// Returns the port of an instance; nil: its text is none.
    private static func port(_ text: String, of number: InstanceNumber) -> UInt16? {
        let text = filling(text, with: number)
        if case .tcp(_, let port)? = SocketSpecification.address(text) { return port }
        if let (port, _) = localAddress(text.hasPrefix("http://") ? String(text.dropFirst(7)) : text, defaultPort: 80) { return port }
        return UInt16(text).flatMap { $0 > 0 ? $0 : nil }
    }

    /// Says which instance has no port, of so many; nil: each has one.
    static func problem(_ text: String, of count: Int) -> String? {
        let numbers = (1...max(1, count)).lazy.map { InstanceNumber($0, of: count) }
        guard let number = numbers.first(where: { port(text, of: $0) == nil }) else { return nil }
        return "`\(text)`, which is `\(filling(text, with: number))` for instance \(number.number): no port from 1 to 65535"
    }

    /// Says which of these ports an instance doesn't have, of so many; nil: each has all.
    fileprivate func problem(of count: Int) -> String? {
        ([ready, health].compactMap(\.self) + sockets.values.sorted()).lazy.compactMap { Self.problem($0, of: count) }.first
    }

    /// Gives the settings of an instance its ports.
    fileprivate func fill(_ settings: inout ProgramSettings, with number: InstanceNumber) {
        if let port = ready.flatMap({ Self.port($0, of: number) }) {
            switch settings.readiness {
            case .http(_, let path, let interval, let timeout):
                settings.readiness = .http(port: port, path: path, interval: interval, timeout: timeout)
            case .tcp(_, let interval, let timeout): settings.readiness = .tcp(port: port, interval: interval, timeout: timeout)
            case .running, .notify, .descriptor, .command, .log: break
            }
        }
        if let port = health.flatMap({ Self.port($0, of: number) }) {
            switch settings.health?.probe {
            case .http(_, let path)?: settings.health?.probe = .http(port: port, path: path)
            case .tcp?: settings.health?.probe = .tcp(port: port)
            case .command?, nil: break
            }
        }
        for (place, text) in sockets where settings.sockets.indices.contains(place) {
            guard let address = SocketSpecification.address(Self.filling(text, with: number)) else { continue }
            settings.sockets[place].address = address
        }
    }
}

extension ConfiguredProgram {
    /// Returns the program with the ports of an instance.
    func withPorts(of number: InstanceNumber) -> ConfiguredProgram {
        var program = self
        instancePorts?.fill(&program.settings, with: number)
        program.instancePorts = nil
        return program
    }
}

extension ConfiguredChild {
    /// Says which instance would have no port, of so many, or which of those below a group; nil: each has one.
    package func portProblem(of count: Int) -> String? {
        switch content {
        case .program(let program): program.instancePorts?.problem(of: count)
        case .group(let group): group.children.lazy.filter { $0.instances == nil }.compactMap { $0.portProblem(of: count) }.first
        case .worker: nil
        }
    }
}

extension ConfigurationReader {
    /// Takes note of the ports that have the number of an instance, and reports those that are none for one of the instances.
    mutating func checkInstancePorts(_ fields: Fields, _ child: inout ConfiguredChild) {
        guard let node = fields["program"], case .program(var program) = child.content else { return }
        let count = child.instances ?? scope.instances
        program.instancePorts = InstancePorts(node) { key, node, text in
            if let count {
                if let problem = InstancePorts.problem(text, of: count) { report(at: node.mark, "`\(key)` is \(problem)") }
            } else {
                let expected = "a number, or `instances` for the child or a group around it"
                report(at: node.mark, "`\(key)` is `\(text)`, and the child has no instances; expected \(expected)")
            }
        }
        child.content = .program(program)
    }
}
