/// Any JSON text as a value: configurations and payloads whose type this process doesn't know.
///
/// There is no parser here: any `Decoder` makes one, `JSONDecoder` and a YAML decoder included.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction that 64 bits hold.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    /// A text.
    case string(String)
    /// A list of values.
    case array([JSONValue])
    /// Values by name, in no order.
    case object([String: JSONValue])
}
