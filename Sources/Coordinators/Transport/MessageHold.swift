/// A request of the root to its workers while another program is about to take the root's place.
enum MessageHold: String {
    /// New messages upwards wait.
    case hold
    /// They go on.
    case release
}
