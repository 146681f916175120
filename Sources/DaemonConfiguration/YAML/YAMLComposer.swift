/// The composition of a file's tree from what the parser finds in it.
struct YAMLComposer: ~Copyable {
    /// The largest number of lists and mappings in one another, which bounds the recursion of all that walks over the tree.
    private static let maximumDepth = 1_000

    private var parser: YAMLParser
    private let file: String
    /// The nodes that aliases stand for, whose memory is shared by all aliases of one anchor.
    private var anchors: [String: YAMLNode] = [:]

    /// Returns the root of the one document in `text`; nil when there is none.
    ///
    /// - Parameter isIncluded: Whether the marks say which file it is, because another one includes it.
    static func compose(_ text: String, file: String, isIncluded: Bool = false) throws(ConfigurationError) -> YAMLNode? {
        try SourceText.check(scalars: text.unicodeScalars, file: file)
        return try text.utf8.span.withUnsafeBufferPointer { bytes throws(ConfigurationError) in
            var composer = YAMLComposer(parser: YAMLParser(bytes, file: file, isIncluded: isIncluded), file: file)
            return try composer.root()
        }
    }

    private mutating func root() throws(ConfigurationError) -> YAMLNode? {
        _ = try parser.next()  // the stream
        guard try parser.next() != nil, let first = try parser.next() else { return nil }
        let root = try node(first, below: 0)
        _ = try parser.next()  // the document's end
        if let second = try parser.next() {
            throw second.mark.error("a second YAML document begins here; expected one document in the file", file: file)
        }
        return root
    }

    /// - Parameter depth: The number of lists and mappings that the node is in.
    private mutating func node(_ event: YAMLParser.Event, below depth: Int) throws(ConfigurationError) -> YAMLNode {
        let content: YAMLNode.Content
        switch event.kind {
        case .stream, .document: preconditionFailure("libyaml has found a document in a document")
        case .alias:
            guard let name = event.anchor, let node = anchors[name] else {
                let problem = "not valid YAML: found undefined alias; expected an alias (`*name`) to follow its anchor (`&name`)"
                throw event.mark.error(problem, file: file)
            }
            try checkDepth(depth + node.depth, at: event.mark)
            return node
        case .scalar(let text, let isPlain): content = .scalar(text, isPlain: isPlain)
        case .sequence: content = .sequence(try nodes(in: event, below: depth))
        case .mapping:
            let nodes = try nodes(in: event, below: depth)
            let pairs = stride(from: 0, to: nodes.count, by: 2).map { (key: nodes[$0], value: nodes[$0 + 1]) }
            try checkKeys(pairs.map(\.key))
            content = .mapping(pairs)
        }
        let node = YAMLNode(content, tag: event.tag, mark: event.mark)
        if let name = event.anchor { anchors[name] = node }
        return node
    }

    /// Returns the nodes up to the end of a list or a mapping.
    private mutating func nodes(in start: YAMLParser.Event, below depth: Int) throws(ConfigurationError) -> [YAMLNode] {
        try checkDepth(depth + 1, at: start.mark)
        var nodes: [YAMLNode] = []
        while let event = try parser.next() {
            nodes.append(try node(event, below: depth + 1))
        }
        return nodes
    }

    private func checkDepth(_ depth: Int, at mark: Mark) throws(ConfigurationError) {
        guard depth > Self.maximumDepth else { return }
        let problem = "more than \(Self.maximumDepth) lists and mappings are in one another (an alias counts as all that it stands for)"
        throw mark.error("\(problem); expected fewer levels", file: file)
    }

    private func checkKeys(_ keys: [YAMLNode]) throws(ConfigurationError) {
        var texts: Set<String> = []
        for key in keys {
            guard let text = key.text, !texts.insert(text).inserted else { continue }
            throw key.mark.error("the key `\(text)` is given more than once in one mapping; expected each key once", file: file)
        }
    }
}
