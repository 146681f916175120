/// A JSON text as a value, for configurations and payloads whose type the process doesn't know.
///
/// Every `Decoder` can create such a value, for example `JSONDecoder` or a YAML decoder.
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
