import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import Links
import NNG
import TestSupport

/// A node of a cluster that has no coordinators but its root, and that sends messages for one child to a tree, which is another node.
///
/// The messages cross a real socket, as between two machines. What a daemon decides, this does.
enum CallingNode {
    private struct Places: PlacedChildren {
        let changes = ChangeSignal()
        let child: String
        /// Where the owner listens; `nil`: this node is the owner.
        var owner: String?

        func place(of key: String) -> ChildPlace? {
            guard key == child else { return nil }
            return owner == nil ? .here : .elsewhere(node: "owner", epoch: 1)
        }

        func takes(_ key: String, epoch: UInt64) -> Bool { owner == nil && key == child && epoch == 1 }

        func connect(to node: String) async throws -> Link {
            guard let owner else { throw CoordinatorError(.failed, "the owner dials no other node") }
            return .over(try await PairConnection.dial(owner, maximumMessageSize: 2 << 20))
        }
    }

    private actor Root: Coordinator {
        nonisolated let context: Context
        init(_ context: Context) { self.context = context }
        static let responders: Responders = [.forward(prefix: "Deed", to: "doer")]
    }

    /// Runs a node that calls a child of a running tree.
    static func with<Result>(
        _ child: String,
        of owner: CoordinatorRuntime,
        _ body: (CoordinatorRuntime) async throws -> Result
    ) async throws -> Result {
        try await withTemporaryDirectory { directory in
            let address = "ipc://\(directory.file("owner"))"
            let (listener, tasks) = (try StreamListener(address), OwnedTasks())
            owner.route(by: Places(child: child))
            tasks.add {
                while let stream = try? await listener.accept(),
                    let connection = try? await PairConnection.negotiate(stream, maximumMessageSize: 2 << 20)
                {
                    tasks.add { await owner.exchangeMessages(on: .over(connection), with: "caller") }
                }
            }
            let caller = CoordinatorRuntime(Root.self, options: .init())
            caller.route(by: Places(child: child, owner: address))
            try await caller.start()
            let result: Swift.Result<Result, any Error>
            do { result = .success(try await body(caller)) } catch { result = .failure(error) }
            await caller.stop()
            listener.close()
            await tasks.end()
            return try result.get()
        }
    }
}
