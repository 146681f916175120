/// A child's place in the tree: which supervisor's child it is, and which of its children.
package struct Place: Hashable, Sendable {
    /// The number of its supervisor in ``Scenario/groups``.
    package var group: Int
    /// Its number among the children that this supervisor may have.
    package var slot: Int

    /// Creates a place.
    package init(group: Int, slot: Int) {
        self.group = group
        self.slot = slot
    }

    /// The id by which its supervisor knows it.
    package var id: String { Self.ids[slot] }

    /// The ids that there are.
    package static let ids = ["a", "b", "c", "d", "e", "f"]

    /// Returns the number of the child with this id; nil if no place has it.
    package static func slot(of id: String) -> Int? {
        ids.firstIndex(of: id)
    }
}
