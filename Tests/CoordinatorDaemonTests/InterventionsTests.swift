import Coordinators
import Testing

@testable import CoordinatorDaemon

@Suite("The commands that end what another one has started")
struct InterventionsTests {
    @Test("A command's own beginning and end aren't another's")
    func own() {
        let interventions = Interventions()
        let number = interventions.end(at: "/a", since: interventions.openIntervention(at: "/a"))
        #expect(!interventions.hasCome(after: number, at: "/a"))
    }

    @Test("A command that begins or ends after another one's beginning may have ended what that one started, whichever ends last")
    func others() {
        for path in ["/", "/a"] as [CoordinatorPath] {
            let interventions = Interventions()
            let earlier = interventions.openIntervention(at: path)
            let first = interventions.openIntervention(at: "/a/b")
            interventions.end(at: path, since: earlier)
            let number = interventions.end(at: "/a/b", since: first)
            #expect(interventions.hasCome(after: number, at: "/a/b"))

            let second = interventions.openIntervention(at: "/a/b")
            let later = interventions.openIntervention(at: path)
            let end = interventions.end(at: "/a/b", since: second)
            #expect(interventions.hasCome(after: end, at: "/a/b"))
            interventions.end(at: path, since: later)
            #expect(interventions.hasCome(after: end, at: "/a/b"))
        }
    }

    @Test("A command about a sibling, or what is below, or one that has ended before, ends nothing here")
    func strangers() {
        let interventions = Interventions()
        interventions.end(at: "/a", since: interventions.openIntervention(at: "/a"))
        let beginning = interventions.openIntervention(at: "/a")
        for path in ["/b", "/a/c"] as [CoordinatorPath] { interventions.end(at: path, since: interventions.openIntervention(at: path)) }
        let number = interventions.end(at: "/a", since: beginning)
        #expect(!interventions.hasCome(after: number, at: "/a"))
    }
}
