import HTTPTypes

// The lines that are sorted: items of the query or a form, and headers.

extension CanonicalForm.Writer {
    /// The part of a request that holds the items.
    enum ItemSource {
        case query, form

        var tag: StaticString {
            switch self {
            case .query: "query"
            case .form: "field"
            }
        }

        var secretTag: StaticString {
            switch self {
            case .query: "secret-query"
            case .form: "secret-field"
            }
        }
    }

    /// Items of a query or a form, the secret ones behind the others.
    ///
    /// - Parameter filled: secrets that were filled in.
    mutating func addItems(
        _ items: QueryItems,
        of source: ItemSource,
        filled: QueryItems = QueryItems(),
        _ rules: KeyRules
    ) {
        guard !hasIdentity, !filled.isEmpty else {
            return items.withSortedPlaces { add($0, of: items.bytes.span, filledStart: .max, source, rules) }
        }
        var all = items
        all.append(contentsOf: filled)
        let filledStart = items.isEmpty ? 0 : items.bytes.count + 1
        all.withSortedPlaces { add($0, of: all.bytes.span, filledStart: filledStart, source, rules) }
    }

    /// - Parameter filledStart: where those begin that are secrets whatever their names.
    private mutating func add(
        _ places: UnsafeMutableBufferPointer<QueryItems.Place>,
        of text: Span<UInt8>,
        filledStart: Int,
        _ source: ItemSource,
        _ rules: KeyRules
    ) {
        var hasSecrets = false
        for index in places.indices {
            let name = text.extracting(places[index].name)
            if places[index].range.lowerBound >= filledStart {
                places[index].isSecret = true
            } else if rules.isIgnored(parameter: name) {
                places[index].isLeftOut = true
            } else if places[index].hasValue {
                places[index].isSecret =
                    rules.isSecret(parameter: name, letters: places[index].letters)
                    || rules.isSecret(value: text.extracting(places[index].value))
            }
            hasSecrets = hasSecrets || places[index].isSecret
        }
        if !hasCacheKey { addOpen(places, of: text, source) }
        if hasSecrets {
            for item in places where item.isSecret { add(secret: item, of: text, source.secretTag, rules) }
        }
    }

    private mutating func addOpen(
        _ places: UnsafeMutableBufferPointer<QueryItems.Place>,
        of text: Span<UInt8>,
        _ source: ItemSource
    ) {
        bytes.append(atMost: text.count + places.count * (source.tag.utf8CodeUnitCount + 2)) { lines in
            for item in places where !item.isSecret && !item.isLeftOut {
                lines.write(line: source.tag, text.extracting(item.range))
            }
        }
    }

    @inline(never)
    private mutating func add(
        secret item: QueryItems.Place,
        of text: Span<UInt8>,
        _ tag: StaticString,
        _ rules: KeyRules
    ) {
        let name = text.extracting(item.name)
        guard !(hasIdentity && rules.isReplaced(parameter: name)) else { return }
        line(tag, text.array(item.name) + [0x20] + rules.digest(of: text.array(item.range)).utf8)
    }
}

// MARK: Headers

extension CanonicalForm.Writer {
    /// A selecting header, and how its name begins.
    private struct HeaderPlace {
        var index: Int
        var beginning: UInt64
        var isSecret: Bool
    }

    mutating func addHeaders(_ headers: HTTPFields, hasBody: Bool, _ rules: KeyRules) {
        // On the stack, unless there are many.
        withUnsafeTemporaryAllocation(of: HeaderPlace.self, capacity: headers.count) { buffer in
            var count = 0
            for index in headers.indices {
                let name = headers[index].name.canonicalName
                guard let place = Self.place(name, at: index, rules), !isElsewhere(name, hasBody, rules) else {
                    continue
                }
                buffer.initializeElement(at: count, to: place)
                count += 1
            }
            var places = UnsafeMutableBufferPointer(rebasing: buffer[..<count])
            places.sortFew { Self.precedes($0, $1, in: headers) }
            for place in places {
                if place.isSecret { add(secret: headers[place.index], rules) } else { add(headers, place.index) }
            }
        }
    }

    /// `nil` for one that does not select.
    @inline(__always)
    private static func place(_ name: String, at index: Int, _ rules: KeyRules) -> HeaderPlace? {
        let isOrdinary = rules.isOrdinary(name)
        guard isOrdinary || rules.isSelecting(name) else { return nil }
        return HeaderPlace(
            index: index, beginning: name.withBytes { $0.beginning(of: $0.count) },
            isSecret: !isOrdinary && rules.isCredential(name))
    }

    private static func precedes(_ left: HeaderPlace, _ right: HeaderPlace, in headers: HTTPFields) -> Bool {
        guard left.beginning == right.beginning else { return left.beginning < right.beginning }
        return precedesByName(left, right, in: headers)
    }

    // Apart, because the headers would be counted in and out for it.
    @inline(never)
    private static func precedesByName(_ left: HeaderPlace, _ right: HeaderPlace, in headers: HTTPFields) -> Bool {
        let (name, other) = (headers[left.index].name.canonicalName, headers[right.index].name.canonicalName)
        return (name, left.index) < (other, right.index)
    }

    /// Whether something else speaks for a header.
    private func isElsewhere(_ header: String, _ hasBody: Bool, _ rules: KeyRules) -> Bool {
        hasBody && header == "content-type" || hasIdentity && rules.isReplaced(header)
    }

    @inline(never)
    private mutating func add(secret field: HTTPField, _ rules: KeyRules) {
        line("secret-header", "\(field.name.canonicalName) \(rules.digest(of: field.value.utf8))")
    }

    private mutating func add(_ headers: HTTPFields, _ index: Int) {
        guard !hasCacheKey else { return }
        headers[index].name.canonicalName.withBytes { name in
            headers[index].value.withBytes { line("header", name, $0) }
        }
    }
}
