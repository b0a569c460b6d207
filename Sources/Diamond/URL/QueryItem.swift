/// An item of a query or a form, `name` or `name=value`, percent-encoded.
package struct QueryItem: Hashable {
    package let text: ArraySlice<UInt8>

    /// The bytes before the first `=`.
    package var name: ArraySlice<UInt8> { text.prefix { $0 != UInt8(ascii: "=") } }

    /// The bytes after the first `=`; empty if there is none.
    package var value: ArraySlice<UInt8> { text[name.endIndex...].dropFirst() }

    /// Whether there is an `=`. An empty value counts as a value.
    package var hasValue: Bool { name.endIndex < text.endIndex }

    /// Returns the items of a text, in order.
    package static func items(of text: [UInt8]) -> [QueryItem] {
        text.split(separator: QueryItems.separator, omittingEmptySubsequences: false).map(QueryItem.init)
    }
}
