extension ChildSlot {
    /// The messages that wait for a child.
    typealias Parking = MessageParking<ParkedMessage>

    /// A message that waits for a child, or for a coordinator below it.
    struct ParkedMessage: Parked {
        let envelope: Envelope
        let rest: ArraySlice<Substring>
        let isDirect: Bool
    }
}
