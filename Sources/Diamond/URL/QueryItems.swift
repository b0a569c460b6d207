/// Items of a query or a form as they stand there, percent-encoded: `a=1&b&c=`.
///
/// One text for all, because a key is made of every request: no item has memory of its own.
package struct QueryItems: Hashable {
    /// The items joined by `&`, in their order.
    private(set) var bytes: [UInt8] = []
    /// One empty name is an item, too: empty bytes are not always none.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    static let mark = UInt8(ascii: "&")

    /// Adds an item.
    ///
    /// - Parameter write: appends `name` or `name=value`, encoded.
    mutating func append<Failure: Error>(_ write: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        if count > 0 { bytes.append(Self.mark) }
        count += 1
        try write(&bytes)
    }

    /// Adds `name`, encoded.
    mutating func append(encoding name: String) {
        name.withBytes { name in append(atMost: 3 * name.count) { $0.write(encoding: name) } }
    }

    /// Adds `name=value`, both encoded.
    mutating func append(encoding name: String, _ value: String) {
        name.withBytes { name in value.withBytes { value in append(encoding: name, value) } }
    }

    private mutating func append(encoding name: Span<UInt8>, _ value: Span<UInt8>) {
        append(atMost: 3 * (name.count + value.count) + 1) { item in
            item.write(encoding: name)
            item.write(UInt8(ascii: "="))
            item.write(encoding: value)
        }
    }

    /// Adds `name=value`, the name encoded.
    mutating func append(encoding name: String, _ value: Int64) {
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
            if !isFirst { item.write(Self.mark) }
            write(&item)
        }
    }

    mutating func append(contentsOf items: QueryItems) {
        guard !items.isEmpty else { return }
        if count > 0 { bytes.append(Self.mark) }
        count += items.count
        bytes += items.bytes
    }

    mutating func reserveCapacity(_ capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Returns the items behind those of `first`, with which these begin.
    func dropping(_ first: QueryItems) -> QueryItems {
        guard !first.isEmpty else { return self }
        var rest = QueryItems()
        rest.bytes = Array(bytes.dropFirst(first.bytes.count + 1))
        rest.count = count - first.count
        return rest
    }
}

extension QueryItems {
    /// The items of a URL's query, escapes in one form. Only escapes of unreserved characters are undone: a bare `,` or
    /// `+` may divide what an escaped one does not (RFC 3986 section 2.2).
    ///
    /// - Parameter query: as ``RequestURL`` has it: every `%` stands before two digits.
    mutating func append(query: Span<UInt8>) {
        if count > 0 { bytes.append(Self.mark) }
        count += 1
        var index = 0
        while index < query.count {
            let start = index
            while index < query.count {
                if ByteClass.special.contains(query[index]) {
                    guard query[index] == Self.mark else { break }
                    count += 1
                }
                index += 1
            }
            bytes.append(query, start..<index)
            if index < query.count { index += append(special: query, at: index) }
        }
    }

    /// An escape, or a bracket; returns how many bytes it has.
    @inline(never)
    private mutating func append(special query: Span<UInt8>, at index: Int) -> Int {
        guard query[index] == PercentEncoding.percent, index + 2 < query.count else {
            PercentEncoding.append(query[index], bare: false, to: &bytes)
            return 1
        }
        let (high, low) = (Hex.value(of: query[index + 1]) ?? 0, Hex.value(of: query[index + 2]) ?? 0)
        let byte = high << 4 | low
        PercentEncoding.append(byte, bare: PercentEncoding.isUnreserved(byte), to: &bytes)
        return 3
    }
}

extension QueryItems {
    /// Each item by itself.
    package var items: [QueryItem] {
        isEmpty ? [] : QueryItem.items(of: bytes)
    }

    /// Each item by itself, sorted by name; those of one name keep their order.
    var sorted: [QueryItem] {
        var sorted: [QueryItem] = []
        withSortedPlaces { places in sorted = places.map { QueryItem(text: bytes[$0.range]) } }
        return sorted
    }
}
