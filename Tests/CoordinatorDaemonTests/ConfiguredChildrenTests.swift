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

    @Test("What a change adds to a subtree of the cluster belongs to its epoch, at all depths")
    func fences() throws {
        func configuration(_ instances: Int, _ more: String = "") throws -> DaemonConfiguration {
            let text = """
                children:
                  - name: placed
                    children:
                      - name: many
                        instances: \(instances)
                        children:
                          - { name: inner, children: [{ name: leaf, program: { command: [cat] } }] }
                \(more)
                  - { name: local, children: [{ name: leaf, program: { command: [cat] } }] }
                """
            return try DaemonConfiguration.parse(text: text, file: "f")
        }
        let former = try configuration(1)
        let added = "      - { name: added, children: [{ name: inner, children: [{ name: leaf, program: { command: [cat] } }] }] }"
        let next = try configuration(2, added)
        let children = ConfiguredChildren(former.children, former.supervision)
        children.own("placed", 7)
        children.replaceAll(next.children, next.supervision)
        for key in ["many-1", "many-2", "added"] {
            let inner = try #require(children.group("placed")?.group(key)?.group("inner"), "\(key)")
            #expect(inner.fence(of: "leaf") == 7, "\(key)")
        }
        #expect(children.group("local")?.fence(of: "leaf") == nil)
    }
}
