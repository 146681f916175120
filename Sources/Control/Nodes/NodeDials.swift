import ConcurrencySupport

/// The numbers of the dials that are under way, each with the node that is dialled.
///
/// A number counts for that node alone: a node that was dialled could pass it on to a third one, to be taken for the dialler.
public final class NodeDials: Sendable {
    private let targets = Lock<[String: String]>([:])

    /// Creates a memory of no dials.
    public init() {}

    /// Takes note of a dial, and returns its number.
    func reserveDial(to node: String) -> String {
        let number = NodeGreeting.randomNumber()
        targets.withLock { $0[number] = node }
        return number
    }

    func end(_ number: String) { targets.withLock { $0[number] = nil } }

    /// Whether this node was dialled with that number, and hasn't answered yet.
    func hasDialled(_ node: String, with number: String) -> Bool { targets.withLock { $0[number] == node } }
}
