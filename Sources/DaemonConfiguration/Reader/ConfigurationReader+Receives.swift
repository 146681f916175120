import WireProtocol

extension ConfigurationReader {
    /// The length of the longest beginning of a message's name, in bytes.
    private static let maximumPrefixLength = 255

    /// Reads `receives` of a child at the top of the file: beginnings of messages' names, each of which one child has.
    ///
    /// - Parameter instances: The number of the child's instances, if the file says one.
    mutating func receives(
        _ node: YAMLNode,
        _ content: ConfiguredChild.Content?,
        instances: Int?,
        _ siblings: inout Siblings
    ) -> [String] {
        switch content {
        case .program?:
            report(at: node.mark, "`receives` is for workers: a program takes no messages; expected none")
            return []
        case .group?:
            report(at: node.mark, "`receives` is for workers at the top of the file: a group takes no messages; expected none")
            return []
        case .worker?, nil: break
        }
        if instances != nil {
            report(
                at: node.mark,
                "a child has both `receives` and `instances`, and nothing says which instance gets a message; expected one of them"
            )
        }
        let expected = "a list of beginnings of messages' names, such as [Catalog.]"
        guard let nodes = list(node, "`receives`", expected: expected) else { return [] }
        return nodes.compactMap { node in
            guard let prefix = prefix(node) else { return nil }
            let line = node.mark.line
            guard let first = siblings.receivers.updateValue(line, forKey: prefix) else { return prefix }
            report(at: node.mark, "`receives` has `\(prefix)`, as it does at line \(first); expected each beginning once in the file")
            return nil
        }
    }

    /// Reports `receives` of a child in a group.
    mutating func receivesBelow(_ node: YAMLNode) -> [String] {
        report(at: node.mark, "`receives` is for a child at the top of the file: the daemon's root hands messages on to its own children")
        return []
    }

    private mutating func prefix(_ node: YAMLNode) -> String? {
        let name = "an entry of `receives`"
        guard let prefix = text(node, name, expected: "the beginning of messages' names") else { return nil }
        guard prefix.utf8.count <= Self.maximumPrefixLength else {
            report(at: node.mark, "\(name) has \(prefix.utf8.count) bytes; expected at most \(Self.maximumPrefixLength)")
            return nil
        }
        // The bar stands between the names of one message.
        guard prefix.unicodeScalars.allSatisfy({ $0.isPrintable && $0 != "|" }) else {
            report(at: node.mark, "\(name) is `\(prefix)`; expected no spaces, control characters and `|`, which no name of a message has")
            return nil
        }
        guard !prefix.hasPrefix(ReservedName.prefix) else {
            let reserved = "`\(ReservedName.prefix)`, which is the runtime's own"
            report(at: node.mark, "\(name) is `\(prefix)`; expected another beginning than \(reserved)")
            return nil
        }
        return prefix
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is seen, and isn't a space.
    fileprivate var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .unassigned, .surrogate, .privateUse, .spaceSeparator, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
