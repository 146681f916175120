/// The coordinator that a message between nodes is for, and the epoch of the ownership for which it's meant: `@17/shop/catalog`.
///
/// A link interns the text, so the epoch goes with each message as a number.
struct NodeTarget: Hashable {
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
