import Links
import WireProtocol

/// The process at the other end of a link, by what it may say there.
///
/// Messages of coordinators may go from any process to any coordinator: what they do is up to their rows. What runtimes say to one another isn't:
/// ``Builtin`` has who may send which message, and ``UpwardNotice`` whom a worker's report may be about. A process that says more has its link closed.
enum PeerRole: Sendable, Hashable {
    /// The parent, which decides about this process, and hands down what those above it say.
    case parent
    /// The worker of the child at a path. Everything that comes from it comes from the child's subtree.
    case child(CoordinatorPath)
    /// Another node of the cluster.
    case node

    /// Returns the rule that the other side has broken by sending a message between runtimes; `nil` when it may send that.
    ///
    /// - Parameter isNumbered: Whether an answer can be sent, and the other side can give the message up.
    func ruleBroken(
        by name: String,
        _ codec: PayloadCodec,
        _ payload: Bytes,
        to target: String,
        isDirect: Bool,
        isNumbered: Bool
    ) -> String? {
        // The parent of another build may ask what isn't known here, and is told so.
        if self == .parent { return nil }
        let name = WireNames.first(in: name)
        let broken: String? =
            if let builtin = Builtin(named: name) {
                builtin.isAsk && !isNumbered
                    ? "it's an ask, and has no number" : ruleBroken(by: builtin, codec, payload, to: target, isDirect: isDirect)
            } else {
                "only the runtime's messages have names that begin with \(ReservedName.prefix), and it has none of that name"
            }
        return broken.map { "\(name.shortened) for '\(target.shortened)' was refused: \($0)" }
    }

    private func ruleBroken(by builtin: Builtin, _ codec: PayloadCodec, _ payload: Bytes, to target: String, isDirect: Bool) -> String? {
        switch (self, builtin.authority) {
        case (.parent, _): nil
        case (.child, .parent): "only a parent may send it"
        case (.child(let path), .ownSubtree):
            if !target.isEmpty {
                "it climbs, and has no target"
            } else if let subject = try? PayloadCoder.decode(Subject.self, from: payload, codec: codec).path, subject.isWithin(path),
                subject.description.utf8.count <= CoordinatorPath.limit
            {
                nil
            } else {
                "\(path) may send it about itself and those below it"
            }
        case (.child, .below): target.isEmpty ? nil : "it climbs, and has no target"
        case (.child, .anyCoordinator): target.isEmpty ? "it's for the coordinator that has the child" : nil
        case (.node, .anyCoordinator): Self.isAboutTarget(payload, codec, target, isDirect) ? nil : "it's about another child than it's for"
        case (.node, .parent), (.node, .ownSubtree), (.node, .below): "nodes don't send it to one another"
        }
    }

    /// Returns whether a node's message is about the child that it's for, or about one below that.
    private static func isAboutTarget(_ payload: Bytes, _ codec: PayloadCodec, _ target: String, _ isDirect: Bool) -> Bool {
        // One that is for no child at all is answered so.
        guard let target = ClusterTarget(target) else { return true }
        // One that isn't direct is handled by the root, which finds the child by this key.
        return isDirect || target.rest.isEmpty && target.key == (try? PayloadCoder.decode(Key.self, from: payload, codec: codec).key)
    }

    /// Returns whether the other side takes a message between runtimes from this process.
    func takes(_ builtin: Builtin?) -> Bool {
        switch (self, builtin?.authority) {
        case (.child, _): true
        case (.parent, .parent), (.node, .parent), (.node, .ownSubtree), (.node, .below), (_, nil): false
        case (.parent, .ownSubtree), (.parent, .below), (.parent, .anyCoordinator), (.node, .anyCoordinator): true
        }
    }

    /// Returns the rule that the other side has broken by sending a frame that only a parent sends; `nil` for other frames.
    func ruleBroken(by frame: Frame) -> String? {
        let name: String? =
            switch frame.content {
            case .hello: "hello"
            case .welcome: "welcome"
            case .start: "start"
            case .stop: "stop"
            case .pause: "pause"
            case .resume: "resume"
            case .dependency: "dependency"
            case .subscribe: "subscribe"
            case .directory: "directory"
            case .ask, .send, .reply, .streamItem, .streamEnd, .ack, .cancel, .event, .ready, .finish, .exited, .inspect, .ping, .pong,
                .credit, .goodbye, .defineName, .part:
                nil
            }
        guard self != .parent, let name else { return nil }
        return "a frame of the kind \(name) was refused: only a parent may send it"
    }

    /// The part of a message that has the path of the coordinator that it's about.
    private struct Subject: Decodable { var path: CoordinatorPath }

    /// The part of a message that has the key of the child that it's about.
    private struct Key: Decodable { var key: String }
}

extension LinkError {
    /// Whether this side has closed the link, because the other has broken a rule.
    var isOfBrokenRule: Bool { code == .violation || code == .malformed }
}

// MARK: - The target of a message between nodes

/// The coordinator that a message between nodes is for, and the epoch of the ownership for which it's meant: `@17/shop/catalog`.
///
/// A link interns the text, so the epoch goes with each message as a number.
struct ClusterTarget: Hashable {
    let epoch: UInt64
    /// The key of the child of the root.
    let key: String
    /// The keys from there down.
    let rest: ArraySlice<Substring>

    init(epoch: UInt64, key: String, rest: ArraySlice<Substring>) { (self.epoch, self.key, self.rest) = (epoch, key, rest) }

    /// Reads a target; `nil` when the text is none.
    init?(_ text: String) {
        guard text.first == "@", let slash = text.firstIndex(of: "/"), let epoch = UInt64(text[..<slash].dropFirst()),
            let keys = CoordinatorPath(String(text[slash...]))?.components, let key = keys.first
        else { return nil }
        self.init(epoch: epoch, key: String(key), rest: keys.dropFirst())
    }

    /// The target in the form in which it goes over a link.
    var text: String { "@\(epoch)\(CoordinatorPath.root.appending(key).appending(rest))" }
}
