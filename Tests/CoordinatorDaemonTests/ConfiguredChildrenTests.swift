import DaemonConfiguration
import Testing

@testable import CoordinatorDaemon

@Suite("The children of a supervisor in the daemon's file")
struct ConfiguredChildrenTests {
    @Test("What a former daemon has left of a group waits for the group's start, also through changes of the file")
    func replaced() throws {
        func configuration(_ command: String, _ rest: String) throws -> DaemonConfiguration {
            let text = """
                children:
                  - name: group
                    children:
                      - { name: stopped, program: { command: [sleep, '1000'] } }
                      - { name: once, oneshot: { command: [echo, once] } }
                      - { name: changed, oneshot: { command: [echo, \(command)] } }
                      - { name: started, program: { command: [sleep, '1000'] }, autostart: false }
                      - { name: \(rest), program: { command: [sleep, '1000'] } }
                """
            return try DaemonConfiguration.parse(text: text, file: "f")
        }
        let (former, next) = (try configuration("former", "gone"), try configuration("next", "new"))
        let children = ConfiguredChildren(former.children, former.supervision)
        let (stopped, completed) = (RestingChild(isStopped: true), RestingChild(hasCompleted: true))
        children.rest(
            ["/group/stopped": stopped, "/group/once": completed, "/group/changed": completed, "/group/gone": stopped],
            startedByOperators: ["/group/started"]
        )
        children.replaceAll(next.children, next.supervision)
        // What has run to its end runs again when it's changed.
        #expect(children.resting() == ["/group/stopped": stopped, "/group/once": completed])
        #expect(children.startedByOperators() == ["/group/started"])
    }
}
