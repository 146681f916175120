import CoordinatorsCluster
import Testing

/// One etcd for a suite.
struct SharedEtcd: SuiteTrait, TestScoping {
    func provideScope(for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void)
        async throws
    {
        try await EtcdMembers.with(1) { members in try await EtcdMembers.$current.withValue(members) { try await function() } }
    }
}

extension Trait where Self == SharedEtcd {
    static var sharedEtcd: SharedEtcd { SharedEtcd() }
}
