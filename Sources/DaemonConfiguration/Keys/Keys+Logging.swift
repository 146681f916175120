import Processes
import WireProtocol

extension Value<LoggingConfiguration.DaemonCopy> {
    static var daemonCopy: Value {
        let truth = Value<Bool>.truth.map(
            { $0 ? LoggingConfiguration.DaemonCopy.labelled : .none },
            { $0 == .raw ? nil : $0 == .labelled }
        )
        return truth.or("raw", .raw) { reader, node, name in
            if case .bool? = node.plain { return truth.read(&reader, node, name) }
            reader.report(at: node.mark, "\(name) is \(node.summary); expected true, false or raw")
            return nil
        }
    }
}

extension Value<String> {
    /// The owner of a file: `user`, `user:group` or `:group`.
    static var fileOwner: Value {
        let expected = "a user, `user:group` or `:group`"
        return Value(["type": ["string", "number", "boolean"], "pattern": "^([^:]*:)?[^:]+$"]) { reader, node, name in
            guard let text = reader.verbatim(node, name) else { return nil }
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2, parts.last?.isEmpty == false else {
                reader.report(at: node.mark, "\(name) is \(node.summary); expected \(expected)")
                return nil
            }
            guard reader.checksFiles else { return text }
            do throws(ProcessError) {
                let owner = try FileOwner(text)
                if !owner.isPossible {
                    reader.report(
                        at: node.mark,
                        "\(name) is `\(text)`, and only root can give a file to that owner; expected this user's own"
                    )
                }
            } catch {
                reader.report(at: node.mark, error.message)
            }
            return text
        }
    }
}
