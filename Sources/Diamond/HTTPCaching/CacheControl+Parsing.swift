import HTTPTypes

extension CacheControl {
    private enum Name {
        case immutable, maxAge, maxStale, minFresh, mustRevalidate, mustUnderstand, noCache, noStore, noTransform
        case onlyIfCached, `private`, proxyRevalidate, `public`, sMaxAge, staleIfError, staleWhileRevalidate
    }

    /// An argument, without its quotes.
    private enum Argument {
        case none
        /// Space around the equals sign, or a quote that is not closed.
        case invalid
        case value(Range<Int>)
    }

    /// Divides a list at commas outside quotes. In quotes, a backslash escapes the next character (RFC 9110 section 5.6.4).
    mutating func add(list: Span<UInt8>) {
        var (start, isQuoted, isEscaped) = (0, false, false)
        for index in list.indices {
            let byte = list[index]
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped
            guard byte == UInt8(ascii: ","), !isQuoted else { continue }
            add(list, list.withoutSpaces(start..<index))
            start = index + 1
        }
        // A quote that is not closed must hide no directive.
        while isQuoted, let comma = list.firstIndex(of: UInt8(ascii: ","), in: start..<list.count) {
            add(list, list.withoutSpaces(start..<comma))
            start = comma + 1
        }
        add(list, list.withoutSpaces(start..<list.count))
    }

    private mutating func add(_ list: Span<UInt8>, _ directive: Range<Int>) {
        let end = list.firstIndex(of: UInt8(ascii: "="), in: directive) ?? directive.upperBound
        guard let name = Self.name(list, list.withoutSpaces(directive.lowerBound..<end)) else { return }
        let argument = Self.argument(list, directive, after: end)
        switch name {
        case .immutable: isImmutable = true
        case .maxAge: maxAge = maxAge ?? Self.seconds(list, argument)
        case .maxStale: maxStale = maxStale ?? Self.seconds(list, argument, default: Self.anyStaleness)
        case .minFresh: minFresh = minFresh ?? Self.seconds(list, argument)
        case .mustRevalidate: mustRevalidate = true
        case .mustUnderstand: mustUnderstand = true
        case .noCache: Self.add(list, argument, to: &noCacheFields, orSet: &noCache)
        case .noStore: noStore = true
        case .noTransform: noTransform = true
        case .onlyIfCached: onlyIfCached = true
        case .private: Self.add(list, argument, to: &privateFields, orSet: &isPrivate)
        case .proxyRevalidate: proxyRevalidate = true
        case .public: isPublic = true
        case .sMaxAge: sharedMaxAge = sharedMaxAge ?? Self.seconds(list, argument)
        case .staleIfError: staleIfError = staleIfError ?? Self.seconds(list, argument)
        case .staleWhileRevalidate: staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(list, argument)
        }
    }

    private static let names: [(StaticString, Name)] = [
        ("max-age", .maxAge), ("public", .public), ("private", .private), ("no-cache", .noCache),
        ("no-store", .noStore), ("must-revalidate", .mustRevalidate), ("s-maxage", .sMaxAge), ("immutable", .immutable),
        ("stale-while-revalidate", .staleWhileRevalidate), ("stale-if-error", .staleIfError),
        ("proxy-revalidate", .proxyRevalidate), ("no-transform", .noTransform), ("must-understand", .mustUnderstand),
        ("max-stale", .maxStale), ("min-fresh", .minFresh), ("only-if-cached", .onlyIfCached),
    ]

    private static func name(_ list: Span<UInt8>, _ range: Range<Int>) -> Name? {
        for (word, name) in names where list.isEqual(range, to: word) { return name }
        return nil
    }

    private static func argument(_ list: Span<UInt8>, _ directive: Range<Int>, after end: Int) -> Argument {
        guard end < directive.upperBound else { return .none }
        let value = (end + 1)..<directive.upperBound
        guard let first = value.first, end > directive.lowerBound, !list.isBlank(end - 1), !list.isBlank(first) else {
            return .invalid
        }
        guard list[first] == UInt8(ascii: "\"") else { return .value(value) }
        guard value.count >= 2, list[value.upperBound - 1] == UInt8(ascii: "\"") else { return .invalid }
        return .value((first + 1)..<(value.upperBound - 1))
    }

    /// - Parameter missing: the seconds where there is no argument.
    private static func seconds(_ list: Span<UInt8>, _ argument: Argument, default missing: Int64 = 0) -> Int64 {
        switch argument {
        case .none: missing
        case .invalid: 0
        case .value(let range): list.deltaSeconds(range) ?? 0
        }
    }

    /// Adds the field names of an argument. Sets the flag instead where the argument is anything else than a list of names:
    /// without names, the directive is about the whole response.
    private static func add(
        _ list: Span<UInt8>,
        _ argument: Argument,
        to fields: inout [String],
        orSet flag: inout Bool
    ) {
        guard case .value(let range) = argument, let names = list.fieldNames(range) else {
            flag = true
            return
        }
        fields.append(contentsOf: names)
    }
}

extension Span<UInt8> {
    /// Returns a number of seconds (RFC 9111 section 1.2.2), 2^31 at most; `nil` for anything else than digits.
    func deltaSeconds(_ range: Range<Int>) -> Int64? {
        guard !range.isEmpty else { return nil }
        var seconds: Int64 = 0
        for index in range {
            guard (0x30...0x39).contains(self[index]) else { return nil }
            seconds = Swift.min(seconds * 10 + Int64(self[index] - 0x30), 1 << 31)
        }
        return seconds
    }

    /// Returns the names of a list of fields, in lower case; `nil` where there is none, or something else than names.
    fileprivate func fieldNames(_ range: Range<Int>) -> [String]? {
        let names = extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            .listElements.filter { !$0.isEmpty }
        return !names.isEmpty && names.allSatisfy { HTTPField.Name($0) != nil } ? names : nil
    }

    fileprivate func isBlank(_ index: Int) -> Bool { self[index] == 0x20 || self[index] == 0x09 }

    fileprivate func withoutSpaces(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isBlank(start) { start += 1 }
        while start < end, isBlank(end - 1) { end -= 1 }
        return start..<end
    }
}
