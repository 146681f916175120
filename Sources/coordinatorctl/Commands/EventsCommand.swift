import ArgumentParser
import Control

/// The command `events`.
struct EventsCommand: StreamCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Events.self,
        discussion: """
            Events are numbered in each daemon, which keeps the last 4,096 of them. --since with the last number that was seen shows those \
            after it. A line says when some are missing. On a terminal, lines end at its edge. In a cluster each node has events and numbers of its own: --node names another one.

            With --follow, the output goes on with further events, also those of another daemon, until it is interrupted.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(name: .shortAndLong, help: "Go on with the events that occur from now on.") var follow = false
    @Option(help: "Begin after an event's number, at a time such as 2026-11-22T20:41:00Z, or at a duration before now, such as 10m.")
    var since: String?
    @Option(help: "Show only events about a path, a pattern or a child's instances, and their descendants.", completion: .livePaths)
    var path: String?
    @Argument(help: "The same as --path.", completion: .livePaths) var subject: String?
    @OptionGroup var place: NodeOption

    func validate() throws {
        if path != nil, subject != nil { throw ValidationError("PATH and --path are the same: name one") }
    }

    func operation() throws(ControlError) -> ControlOperation {
        let number = since.flatMap { UInt64($0) }
        let time = number == nil ? try Since.milliseconds(since) : nil
        return .events(EventQuery(after: number, sinceMilliseconds: time, path: path ?? subject, follows: follow)).on(place.node)
    }

    static func operation(_ operation: ControlOperation, after event: ControlEvent) -> ControlOperation {
        if let other = operation.content as? ControlOperation.OnNode { return self.operation(other.question, after: event).on(other.node) }
        guard var query = (operation.content as? ControlOperation.Events)?.query else { return operation }
        (query.after, query.boot, query.sinceMilliseconds) = (event.number, event.boot, nil)
        return .events(query)
    }

    static func operation(_ operation: ControlOperation, begunAt milliseconds: Int64, byAnother isAnother: Bool) -> ControlOperation {
        // A number means nothing to another daemon; that of another node may still be the one that was asked.
        guard isAnother, var query = (operation.content as? ControlOperation.Events)?.query, query.after != nil else { return operation }
        (query.after, query.sinceMilliseconds) = (nil, milliseconds)
        return .events(query)
    }

    static func unbounded(_ operation: ControlOperation) -> ControlOperation {
        if let other = operation.content as? ControlOperation.OnNode { return unbounded(other.question).on(other.node) }
        guard var query = (operation.content as? ControlOperation.Events)?.query else { return operation }
        query.path = nil
        return .events(query)
    }

    static func isAbout(_ event: ControlEvent, _ paths: [String]) -> Bool { paths.contains { event.isAbout($0) } }

    /// The daemon sends what comes after a number, so that nothing comes again.
    static func time(of event: ControlEvent) -> String? { nil }

    static func text(of event: ControlEvent, _ layout: inout StreamLayout) -> String { layout.line(event.text) }
}
