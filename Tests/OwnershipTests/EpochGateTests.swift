import Ownership
import Testing

@Suite("Receivers and senders of what carries an epoch")
struct EpochGateTests {
    @Test("A gate refuses what is older than it has seen, for each path alone")
    func gate() {
        var gate = EpochGate()
        #expect(gate.admit(Epoch(rawValue: 5), of: "/a") == .admitted)
        #expect(gate.admit(Epoch(rawValue: 5), of: "/a") == .admitted)
        #expect(gate.admit(Epoch(rawValue: 9), of: "/a") == .admitted)
        #expect(gate.admit(Epoch(rawValue: 5), of: "/a") == .stale(Epoch(rawValue: 9)))
        #expect(gate.admit(Epoch(rawValue: 9), of: "/a") == .admitted)
        #expect(gate.admit(Epoch(rawValue: 1), of: "/b") == .admitted)
        #expect(gate.highestEpoch(of: "/a") == Epoch(rawValue: 9))
    }

    @Test("A route looks up once, and again when a node isn't the owner")
    func route() throws {
        let (first, second) = (try Self.owner("a", 5), try Self.owner("b", 9))
        var route = OwnerRoute()
        #expect(route.nextStep() == .lookUp)
        #expect(route.nextStep() == .wait)
        #expect(route.lookUpEnded(first) == true)
        #expect(route.nextStep() == .send(first))
        #expect(route.notHere(sent: first.epoch, known: nil) == .lookUp)
        #expect(route.lookUpEnded(first) == false, "the owner that has refused")
        #expect(route.nextStep() == .lookUp)
        #expect(route.lookUpEnded(second) == true)
        // A second message was under way to the first owner.
        #expect(route.notHere(sent: first.epoch, known: second.epoch) == .send(second))
        #expect(route.lookUpEnded(first) == true, "an older answer doesn't replace the owner")
        #expect(route.owner == second)
    }

    private static func owner(_ name: String, _ epoch: UInt64) throws -> OwnerRoute.Owner {
        OwnerRoute.Owner(node: try #require(NodeName(name)), epoch: Epoch(rawValue: epoch))
    }
}
