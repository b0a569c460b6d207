/// One `name` or `name=value` of a query or a form, percent-encoded.
package struct QueryItem: Hashable {
    package let text: ArraySlice<UInt8>

    /// The bytes before the first `=`.
    package var name: ArraySlice<UInt8> { text.prefix { $0 != UInt8(ascii: "=") } }

    /// The bytes behind the first `=`, empty where there is none.
    var value: ArraySlice<UInt8> { text[name.endIndex...].dropFirst() }

    /// Whether there is an `=`: an empty value is not none.
    package var hasValue: Bool { name.endIndex < text.endIndex }

    /// Each item of a text, in their order.
    package static func items(of text: [UInt8]) -> [QueryItem] {
        text.split(separator: QueryItems.mark, omittingEmptySubsequences: false).map(QueryItem.init)
    }
}
