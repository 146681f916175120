import Processes

/// The listening sockets of a program.
extension ConfigurationReader {
    /// The largest number of sockets of one program; each takes a descriptor of the daemon.
    private static let maximumSockets = 64

    mutating func sockets(_ node: YAMLNode) -> [SocketSpecification] {
        let expected = "a list of sockets, such as [{ name: http, listen: 127.0.0.1:8080 }]"
        guard let nodes = list(node, "`sockets`", expected: expected) else { return [] }
        guard nodes.count <= Self.maximumSockets else {
            report(at: node.mark, "`sockets` has \(nodes.count) items; expected at most \(Self.maximumSockets)")
            return []
        }
        var sockets: [SocketSpecification] = []
        for node in nodes {
            guard let fields = self.fields(node, "a socket", keys: ["name", "listen", "mode"]) else { continue }
            let name = required("name", of: fields, expected: "the name by which the program finds the socket").flatMap {
                self.socketName($0)
            }
            let mode = fields["mode"].flatMap { self.mode($0) }
            let listen = required("listen", of: fields, expected: "an address, such as 127.0.0.1:8080, or an absolute path")
            guard let listen, let name, let address = address(listen, mode, fields["mode"]) else { continue }
            if sockets.contains(where: { $0.address == address }) {
                report(at: listen.mark, "`listen` is \(listen.summary), as of a socket before; expected another address")
            }
            sockets.append(SocketSpecification(name: name, address: address))
        }
        return sockets
    }

    /// Reports a descriptor for readiness that is a socket too.
    mutating func checkDescriptors(of settings: ProgramSettings, _ ready: YAMLNode?) {
        guard let ready, case .descriptor(let number) = settings.readiness else { return }
        let targets = GivenSockets.firstTarget..<GivenSockets.firstTarget + Int32(settings.sockets.count)
        guard targets.contains(number) else { return }
        report(at: ready.mark, "`fd` is \(number), which is a socket of the program; expected \(targets.upperBound) or more")
    }

    private mutating func socketName(_ node: YAMLNode) -> String? {
        guard let name = text(node, "`name`", expected: "the name of a socket") else { return nil }
        // The names are joined by colons.
        guard !name.isEmpty, name.utf8.count <= 255, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }) else {
            report(at: node.mark, "`name` is \(node.summary); expected letters and digits, without spaces and colons")
            return nil
        }
        return name
    }

    private mutating func mode(_ node: YAMLNode) -> UInt32? {
        // By YAML's rules 0660 would be the number 660, but permissions are written in octal everywhere.
        let digits = node.text ?? ""
        if (3...4).contains(digits.count), let mode = UInt32(digits, radix: 8), mode <= 0o777 { return mode }
        report(at: node.mark, "`mode` is \(node.summary); expected octal permissions, such as 0660")
        return nil
    }

    private mutating func address(_ node: YAMLNode, _ mode: UInt32?, _ modeNode: YAMLNode?) -> SocketSpecification.Address? {
        guard let text = text(node, "`listen`", expected: "an address") else { return nil }
        guard let address = SocketSpecification.address(text, mode: mode ?? 0o600) else {
            report(
                at: node.mark,
                "`listen` is \(node.summary); expected an address in numbers and a port, such as 127.0.0.1:8080, [::1]:8080 or *:8080, "
                    + "or an absolute path of at most \(RuntimeDirectory.maximumSocketPathLength) bytes"
            )
            return nil
        }
        if case .path(let path, _) = address { checkPlace(path, at: node) }
        if case .tcp = address, let modeNode {
            report(at: modeNode.mark, "`mode` is for a socket at a path; expected no such key")
        }
        return address
    }
}
