#if Valkey
/// Bytes that are no RESP3, or more than the limits allow. The connection cannot be used any further.
///
/// It has none of the bytes, which may be an entry.
package struct RESPError: Error, Hashable, CustomStringConvertible {
    /// The problem of the bytes.
    package enum Problem: String, Sendable {
        case unknownType = "a value of an unknown type"
        case badLength = "a length that is no number"
        case badNumber = "a number that is none"
        case badBoolean = "a boolean that is neither t nor f"
        case badNull = "a null with a value"
        case badFormat = "a verbatim string without a format"
        case badLineEnd = "a value that does not end with CR and LF"
        case streamed = "a streamed value, which no command of this client asks for"
        case longLine = "a line beyond the limit"
        case longReply = "a reply beyond the limit"
        case manyItems = "more items than the limit"
        case deep = "values nested beyond the limit"
    }

    package let problem: Problem
    /// The number of bytes of the connection before the value with the problem.
    package let offset: Int

    package var description: String { "the server sent \(problem.rawValue), at byte \(offset)" }
}
#endif
