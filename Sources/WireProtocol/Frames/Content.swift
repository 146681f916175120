/// What a frame says.
public enum Content: Sendable, Hashable {
    /// A worker introduces itself. First frame of the dialling side.
    case hello(Hello)
    /// The parent accepts a worker. First frame of the listening side.
    case welcome(Welcome)
    /// A message that wants an answer.
    case ask(Ask)
    /// The answer to an ``ask(_:)``, or to any other frame with a correlation.
    case reply(Reply)
    /// One of several answers to an ``ask(_:)``.
    case streamItem(Bytes)
    /// No more answers will come; the failure says why when the end is not the regular one.
    case streamEnd(Failure?)
    /// A message that wants no answer; with a correlation, only whether anybody takes it.
    case send(Send)
    /// Nothing but the header's acknowledgement.
    case ack
    /// The asker of the same correlation has lost interest.
    case cancel
    /// Something happened to, or was announced by, a coordinator.
    case event(Event)
    /// Events are wanted, or no longer.
    case subscribe(Subscribe)
    /// The end of a coordinator is to be reported with ``terminated(_:)``.
    case watch(Watch)
    /// A watched coordinator has ended.
    case terminated(Terminated)
    /// The worker is to start its coordinator.
    case start(Start)
    /// A coordinator is to stop.
    case stop(Stop)
    /// A coordinator is to pause.
    case pause(Pause)
    /// A coordinator is to resume.
    case resume(Resume)
    /// The worker's coordinator has started; the first one counts, whatever its correlation.
    case ready
    /// The coordinator has finished; the payload is its output.
    case finish(Bytes)
    /// The coordinator has ended.
    case exited(Exited)
    /// A dependency of the subtree has a new value.
    case dependency(Dependency)
    /// An operator's question about a coordinator.
    case inspect(Inspect)
    /// Is the peer alive? Answered by ``pong(_:)`` with the same probe.
    case ping(Probe)
    /// The peer is alive.
    case pong(Probe)
    /// Permission to send more.
    case credit(Credit)
    /// The link ends in order; the text says why.
    case goodbye(String)
    /// A name is given a number, for this direction of this link.
    case defineName(DefineName)
}
