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

    /// Divides a list at commas outside quotes. In quotes, a backslash escapes the next character (RFC 9110 section
    /// 5.6.4).
    mutating func add(list: Span<UInt8>) {
        var start = 0
        var isQuoted = false
        var isEscaped = false
        for index in list.indices {
            let byte = list[index]
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped
            guard byte == UInt8(ascii: ","), !isQuoted else { continue }
            add(directive: list.withoutSpaces(start..<index), of: list)
            start = index + 1
        }
        // A quote that is not closed must hide no directive.
        while isQuoted, let comma = list.firstIndex(of: UInt8(ascii: ","), in: start..<list.count) {
            add(directive: list.withoutSpaces(start..<comma), of: list)
            start = comma + 1
        }
        add(directive: list.withoutSpaces(start..<list.count), of: list)
    }

    private mutating func add(directive: Range<Int>, of list: Span<UInt8>) {
        let end = list.firstIndex(of: UInt8(ascii: "="), in: directive) ?? directive.upperBound
        guard let name = Self.name(in: list.withoutSpaces(directive.lowerBound..<end), of: list) else { return }
        let argument = Self.argument(of: directive, after: end, in: list)
        switch name {
        case .immutable: isImmutable = true
        case .maxAge: maxAge = maxAge ?? Self.seconds(in: argument, of: list)
        case .maxStale: maxStale = maxStale ?? Self.seconds(in: argument, of: list, default: Self.anyStaleness)
        case .minFresh: minFresh = minFresh ?? Self.seconds(in: argument, of: list)
        case .mustRevalidate: mustRevalidate = true
        case .mustUnderstand: mustUnderstand = true
        case .noCache: Self.add(argument, of: list, to: &noCacheFields, orSet: &noCache)
        case .noStore: noStore = true
        case .noTransform: noTransform = true
        case .onlyIfCached: onlyIfCached = true
        case .private: Self.add(argument, of: list, to: &privateFields, orSet: &isPrivate)
        case .proxyRevalidate: proxyRevalidate = true
        case .public: isPublic = true
        case .sMaxAge: sharedMaxAge = sharedMaxAge ?? Self.seconds(in: argument, of: list)
        case .staleIfError: staleIfError = staleIfError ?? Self.seconds(in: argument, of: list)
        case .staleWhileRevalidate: staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(in: argument, of: list)
        }
    }

    private static let names: [(StaticString, Name)] = [
        ("max-age", .maxAge), ("public", .public), ("private", .private), ("no-cache", .noCache),
        ("no-store", .noStore), ("must-revalidate", .mustRevalidate), ("s-maxage", .sMaxAge), ("immutable", .immutable),
        ("stale-while-revalidate", .staleWhileRevalidate), ("stale-if-error", .staleIfError),
        ("proxy-revalidate", .proxyRevalidate), ("no-transform", .noTransform), ("must-understand", .mustUnderstand),
        ("max-stale", .maxStale), ("min-fresh", .minFresh), ("only-if-cached", .onlyIfCached),
    ]

    private static func name(in range: Range<Int>, of list: Span<UInt8>) -> Name? {
        for (word, name) in names where list.isEqual(range, to: word) { return name }
        return nil
    }

    private static func argument(of directive: Range<Int>, after end: Int, in list: Span<UInt8>) -> Argument {
        guard end < directive.upperBound else { return .none }
        let value = (end + 1)..<directive.upperBound
        guard let first = value.first, end > directive.lowerBound, !list.isBlank(end - 1), !list.isBlank(first) else {
            return .invalid
        }
        guard list[first] == UInt8(ascii: "\"") else { return .value(value) }
        guard value.count >= 2, list[value.upperBound - 1] == UInt8(ascii: "\"") else { return .invalid }
        return .value((first + 1)..<(value.upperBound - 1))
    }

    /// - Parameter missing: the seconds of a directive without an argument.
    private static func seconds(in argument: Argument, of list: Span<UInt8>, default missing: Int64 = 0) -> Int64 {
        switch argument {
        case .none: missing
        case .invalid: 0
        case .value(let range): list.deltaSeconds(range) ?? 0
        }
    }

    /// Adds the field names of an argument. If it is not a list of names, sets the flag instead: the directive then
    /// applies to the whole response.
    private static func add(
        _ argument: Argument,
        of list: Span<UInt8>,
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
    /// Returns a number of seconds (RFC 9111 section 1.2.2), at most 2^31; `nil` if there are other characters than
    /// digits.
    func deltaSeconds(_ range: Range<Int>) -> Int64? {
        guard !range.isEmpty else { return nil }
        var seconds: Int64 = 0
        for index in range {
            guard (0x30...0x39).contains(self[index]) else { return nil }
            seconds = Swift.min(seconds * 10 + Int64(self[index] - 0x30), 1 << 31)
        }
        return seconds
    }

    /// Returns the names of a list of fields, in lower case; `nil` if there is none, or an element that is not a name.
    fileprivate func fieldNames(_ range: Range<Int>) -> [String]? {
        let names = extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            .listElements.filter { !$0.isEmpty }
        return !names.isEmpty && names.allSatisfy { HTTPField.Name($0) != nil } ? names : nil
    }

    fileprivate func isBlank(_ index: Int) -> Bool { self[index] == 0x20 || self[index] == 0x09 }

    fileprivate func withoutSpaces(_ range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end, isBlank(start) { start += 1 }
        while start < end, isBlank(end - 1) { end -= 1 }
        return start..<end
    }
}
