import Control
import Ownership
import Placement

@testable import CoordinatorsCluster

/// What must hold of the reading of one type of the store's values, whatever the bytes are: what isn't read is named, and what is has the same
/// form again, and can be used.
struct FuzzedStoreValue: Sendable {
    enum Outcome {
        case read, refused
        case problem(String)
    }

    let name: String
    /// The file below `Sources` in which the type reads.
    let file: String
    let sample: String
    let read: @Sendable ([UInt8]) -> Outcome

    private init<Value: StoreValue>(
        _ type: Value.Type,
        in file: String,
        of sample: String,
        _ key: StoreKey,
        _ use: @escaping @Sendable (Value) -> Void = { _ in }
    ) {
        (name, self.file, self.sample) = ("\(type)", "CoordinatorsCluster/\(file)", sample)
        read = { bytes in
            let value = Value(json: bytes)
            var view = ClusterView()
            let entry = StoreEntry(key: key, value: bytes, created: .init(1), modified: .init(2), lease: nil)
            view.apply(StoreChange(key: key, revision: .init(2), entry: entry))
            guard let value else { return view.unreadable == [key: .init(2)] ? .refused : .problem("\(key) isn't named") }
            guard Value(json: value.json) == value else { return .problem("\(value) doesn't come back") }
            use(value)
            return .read
        }
    }

    private static func node(_ text: String) -> NodeName {
        guard let name = NodeName(text) else { preconditionFailure("\(text) names no node") }
        return name
    }

    /// All types, each with what a leader does with it; `DecoderTests` finds those that aren't here.
    static let all = [
        FuzzedStoreValue(
            PlacementConstraints.self,
            in: "Node/PlacementConstraints.swift",
            of: #"{"labels":{"disk":"ssd"},"group":"g","weight":5,"moves":3,"pin":"a"}"#,
            .desired("/shop")
        ) { wish in
            let subtrees = (0..<3).map { PlacedSubtree("/\($0)", weight: wish.weight, pin: wish.pin) }
            let nodes = [PlacementNode(node("a"), capacity: 10), PlacementNode(node("b"))]
            _ = Placer(rebalances: true).plan(subtrees, on: nodes, from: [:])
        },
        FuzzedStoreValue(
            SubtreeAssignment.self,
            in: "Node/PlacementConstraints.swift",
            of: #"{"node":"a","failures":[{"node":"b","lease":7}],"isGivenUp":false}"#,
            .assignment("/shop")
        ) { assignment in
            var machine = OwnershipMachine(terms: LeaseTerms(), now: .zero)
            _ = machine.handle(.assigned("/shop", moves: assignment.failures.count), now: .zero)
        },
        FuzzedStoreValue(
            NodeRecord.self,
            in: "Store/NodeRecord.swift",
            of: #"{"name":"a","address":"10.0.0.1:7400","labels":{"disk":"ssd"},"capacity":5,"version":"1.2","isDraining":false}"#,
            // The key has the name of what was read, or of none.
            .node(node("a"))
        ) { record in
            _ = NodeAddress(record.address)
            let node = PlacementNode(record.name, capacity: record.capacity)
            _ = Placer().plan([PlacedSubtree("/a", weight: 1_000_000), PlacedSubtree("/b", weight: 1_000_000)], on: [node], from: [:])
        },
        FuzzedStoreValue(
            OwnerRecord.self,
            in: "Store/Owner.swift",
            of: #"{"node":"a","address":"10.0.0.1:7400","incarnation":3}"#,
            .owner("/shop")
        ),
    ]

    /// Returns what is wrong with the reading of bytes by any type; `nil` when all is well.
    static func problem(_ bytes: [UInt8]) -> String? {
        for value in all {
            if case .problem(let problem) = value.read(bytes) { return "\(value.name): \(problem)" }
        }
        return nil
    }
}
