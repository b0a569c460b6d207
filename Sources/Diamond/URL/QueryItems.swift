/// The items of a query or a form, percent-encoded: `a=1&b&c=`.
///
/// All items are stored in one array of bytes: a key is made for every request, so allocating each item would be slow.
package struct QueryItems: Hashable {
    /// The items joined by `&`, in order.
    private(set) var bytes: [UInt8] = []
    /// The number of items. It distinguishes no items from one with an empty name.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    static let separator = UInt8(ascii: "&")

    /// Appends an item.
    ///
    /// - Parameter write: a closure that appends the encoded `name` or `name=value`.
    mutating func append<Failure: Error>(_ write: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        if count > 0 { bytes.append(Self.separator) }
        count += 1
        try write(&bytes)
    }

    /// Appends `name`, encoded.
    mutating func append(encoding name: String) {
        name.withBytes { name in append(atMost: 3 * name.count) { $0.write(encoding: name) } }
    }

    /// Appends `name=value`, both encoded.
    mutating func append(encoding name: String, value: String) {
        name.withBytes { name in value.withBytes { value in append(encoding: name, value: value) } }
    }

    private mutating func append(encoding name: Span<UInt8>, value: Span<UInt8>) {
        append(atMost: 3 * (name.count + value.count) + 1) { item in
            item.write(encoding: name)
            item.write(UInt8(ascii: "="))
            item.write(encoding: value)
        }
    }

    /// Appends `name=value`, with the name encoded.
    mutating func append(encoding name: String, value: Int64) {
        name.withBytes { name in
            append(atMost: 3 * name.count + 21) { item in
                item.write(encoding: name)
                item.write(UInt8(ascii: "="))
                item.write(decimal: value)
            }
        }
    }

    @inline(__always)
    private mutating func append(atMost length: Int, _ write: (inout ByteWriter) -> Void) {
        let isFirst = count == 0
        count += 1
        bytes.append(atMost: length + 1) { item in
            if !isFirst { item.write(Self.separator) }
            write(&item)
        }
    }

    mutating func append(contentsOf items: QueryItems) {
        guard !items.isEmpty else { return }
        if count > 0 { bytes.append(Self.separator) }
        count += items.count
        bytes += items.bytes
    }

    mutating func reserveCapacity(_ capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Returns the items without the leading items `first`.
    func dropping(_ first: QueryItems) -> QueryItems {
        guard !first.isEmpty else { return self }
        var rest = QueryItems()
        rest.bytes = Array(bytes.dropFirst(first.bytes.count + 1))
        rest.count = count - first.count
        return rest
    }
}

extension QueryItems {
    /// Appends the items of a URL's query, with escapes in normal form. Only escapes of unreserved characters are
    /// decoded: an unescaped `,` or `+` may be a delimiter where an escaped one is not (RFC 3986 section 2.2).
    ///
    /// - Parameter query: the query of a ``RequestURL``, in which two digits follow every `%`.
    mutating func append(query: Span<UInt8>) {
        if count > 0 { bytes.append(Self.separator) }
        count += 1
        var index = 0
        while index < query.count {
            let start = index
            while index < query.count {
                if ByteClass.special.contains(query[index]) {
                    guard query[index] == Self.separator else { break }
                    count += 1
                }
                index += 1
            }
            bytes.append(query, in: start..<index)
            if index < query.count { index += append(special: query, at: index) }
        }
    }

    /// Appends an escape or a bracket, and returns its number of bytes in the query.
    @inline(never)
    private mutating func append(special query: Span<UInt8>, at index: Int) -> Int {
        guard query[index] == PercentEncoding.percent, index + 2 < query.count else {
            PercentEncoding.append(query[index], bare: false, to: &bytes)
            return 1
        }
        let high = Hex.value(of: query[index + 1]) ?? 0
        let low = Hex.value(of: query[index + 2]) ?? 0
        let byte = high << 4 | low
        PercentEncoding.append(byte, bare: PercentEncoding.isUnreserved(byte), to: &bytes)
        return 3
    }
}

extension QueryItems {
    /// The items.
    package var items: [QueryItem] {
        isEmpty ? [] : QueryItem.items(of: bytes)
    }

    /// The items sorted by name. Items with the same name keep their order.
    var sorted: [QueryItem] {
        var sorted: [QueryItem] = []
        withSortedItems { items in sorted = items.map { QueryItem(text: bytes[$0.range]) } }
        return sorted
    }
}
