import HTTPTypes

// The lines that are sorted: items of the query or a form, and headers.

extension CanonicalForm.Writer {
    /// Items of a query or a form, the secret ones behind the others.
    ///
    /// - Parameter filled: secrets that were filled in.
    mutating func addItems(
        _ items: QueryItems,
        _ tag: StaticString,
        secret secretTag: StaticString,
        filled: QueryItems = QueryItems(),
        _ rules: KeyRules
    ) {
        guard !hasIdentity, !filled.isEmpty else {
            return items.withSortedPlaces { add($0, of: items.bytes.span, filledStart: .max, tag, secretTag, rules) }
        }
        var all = items
        all.append(contentsOf: filled)
        let filledStart = items.isEmpty ? 0 : items.bytes.count + 1
        all.withSortedPlaces { add($0, of: all.bytes.span, filledStart: filledStart, tag, secretTag, rules) }
    }

    /// - Parameter filledStart: where those begin that are secrets whatever their names.
    private mutating func add(
        _ places: UnsafeMutableBufferPointer<QueryItems.Place>,
        of text: Span<UInt8>,
        filledStart: Int,
        _ tag: StaticString,
        _ secretTag: StaticString,
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
                places[index].isSecret = rules.isSecret(parameter: name)
            }
            hasSecrets = hasSecrets || places[index].isSecret
        }
        if !hasCacheKey { addOpen(places, of: text, tag) }
        if hasSecrets {
            for item in places where item.isSecret { add(secret: item, of: text, secretTag, rules) }
        }
    }

    private mutating func addOpen(
        _ places: UnsafeMutableBufferPointer<QueryItems.Place>,
        of text: Span<UInt8>,
        _ tag: StaticString
    ) {
        bytes.append(addingCapacity: text.count + places.count * (tag.utf8CodeUnitCount + 2)) { lines in
            for item in places where !item.isSecret && !item.isLeftOut {
                lines.append(line: tag, text.extracting(item.range))
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
                guard let place = Self.place(headers[index].name.canonicalName, at: index, rules),
                    !isElsewhere(headers[index].name, hasBody, rules)
                else { continue }
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
    private static func place(_ name: String, at index: Int, _ rules: KeyRules) -> HeaderPlace? {
        name.withBytes { bytes in
            guard rules.isSelecting(name, bytes) else { return nil }
            let (beginning, isSecret) = (bytes.beginning(of: bytes.count), rules.isCredential(name, bytes))
            return HeaderPlace(index: index, beginning: beginning, isSecret: isSecret)
        }
    }

    private static func precedes(_ left: HeaderPlace, _ right: HeaderPlace, in headers: HTTPFields) -> Bool {
        guard left.beginning == right.beginning else { return left.beginning < right.beginning }
        let (name, other) = (headers[left.index].name.canonicalName, headers[right.index].name.canonicalName)
        return (name, left.index) < (other, right.index)
    }

    /// Whether something else speaks for a header.
    private func isElsewhere(_ name: @autoclosure () -> HTTPField.Name, _ hasBody: Bool, _ rules: KeyRules) -> Bool {
        hasBody && name() == .contentType || hasIdentity && rules.isReplaced(name())
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
