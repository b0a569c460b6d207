import HTTPTypes

// The sorted lines: items of the query or a form, and headers.

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

    /// Adds the items of a query or a form, the secret ones last.
    ///
    /// - Parameter filled: the secrets that were filled in.
    mutating func addItems(
        _ items: QueryItems,
        of source: ItemSource,
        filled: QueryItems = QueryItems(),
        rules: KeyRules
    ) {
        guard !replacesCredentials, !filled.isEmpty else {
            return items.withSortedItems {
                add($0, of: items.bytes.span, filledStart: .max, source: source, rules: rules)
            }
        }
        var all = items
        all.append(contentsOf: filled)
        let filledStart = items.isEmpty ? 0 : items.bytes.count + 1
        all.withSortedItems { add($0, of: all.bytes.span, filledStart: filledStart, source: source, rules: rules) }
    }

    /// - Parameter filledStart: the offset from which all items are secrets, whatever their names.
    private mutating func add(
        _ items: UnsafeMutableBufferPointer<QueryItems.ParsedItem>,
        of text: Span<UInt8>,
        filledStart: Int,
        source: ItemSource,
        rules: KeyRules
    ) {
        var hasSecrets = false
        for index in items.indices {
            let name = text.extracting(items[index].name)
            if items[index].range.lowerBound >= filledStart {
                items[index].isSecret = true
            } else if rules.isIgnored(parameter: name) {
                items[index].isLeftOut = true
            } else if items[index].hasValue {
                items[index].isSecret =
                    rules.isSecret(parameter: name, letters: items[index].letters)
                    || rules.isSecret(value: text.extracting(items[index].value))
            }
            hasSecrets = hasSecrets || items[index].isSecret
        }
        if !hasCacheKey { addPlain(items, of: text, source: source) }
        if hasSecrets {
            for item in items where item.isSecret { add(secret: item, of: text, tag: source.secretTag, rules: rules) }
        }
    }

    private mutating func addPlain(
        _ items: UnsafeMutableBufferPointer<QueryItems.ParsedItem>,
        of text: Span<UInt8>,
        source: ItemSource
    ) {
        bytes.append(atMost: text.count + items.count * (source.tag.utf8CodeUnitCount + 2)) { lines in
            for item in items where !item.isSecret && !item.isLeftOut {
                lines.write(line: source.tag, text.extracting(item.range))
            }
        }
    }

    @inline(never)
    private mutating func add(
        secret item: QueryItems.ParsedItem,
        of text: Span<UInt8>,
        tag: StaticString,
        rules: KeyRules
    ) {
        let name = text.extracting(item.name)
        guard !(replacesCredentials && rules.isReplaced(parameter: name)) else { return }
        addLine(tag, content: text.array(item.name) + [0x20] + rules.digest(of: text.array(item.range)).utf8)
    }
}

// MARK: Headers

extension CanonicalForm.Writer {
    /// A selecting header, and the first bytes of its name.
    private struct SelectingHeader {
        var index: Int
        var beginning: UInt64
        var isSecret: Bool
    }

    mutating func addHeaders(_ headers: HTTPFields, hasBody: Bool, rules: KeyRules) {
        // Allocated on the stack, unless there are many headers.
        withUnsafeTemporaryAllocation(of: SelectingHeader.self, capacity: headers.count) { buffer in
            var count = 0
            for index in headers.indices {
                let name = headers[index].name.canonicalName
                guard let header = Self.selecting(name, at: index, rules: rules),
                    !isReplaced(name, hasBody: hasBody, rules: rules)
                else {
                    continue
                }
                buffer.initializeElement(at: count, to: header)
                count += 1
            }
            var selected = UnsafeMutableBufferPointer(rebasing: buffer[..<count])
            selected.sortFew { Self.precedes($0, $1, in: headers) }
            for header in selected {
                if header.isSecret {
                    add(secret: headers[header.index], rules: rules)
                } else {
                    add(headers, at: header.index)
                }
            }
        }
    }

    /// Returns the header at an index; `nil` if it does not select.
    @inline(__always)
    private static func selecting(_ name: String, at index: Int, rules: KeyRules) -> SelectingHeader? {
        let isOrdinary = rules.isOrdinary(name)
        guard isOrdinary || rules.isSelecting(name) else { return nil }
        return SelectingHeader(
            index: index, beginning: name.withBytes { $0.beginning(of: $0.count) },
            isSecret: !isOrdinary && rules.isCredential(name))
    }

    private static func precedes(_ left: SelectingHeader, _ right: SelectingHeader, in headers: HTTPFields) -> Bool {
        guard left.beginning == right.beginning else { return left.beginning < right.beginning }
        return precedesByName(left, right, in: headers)
    }

    // Not inlined, because that would retain and release the headers in the common case.
    @inline(never)
    private static func precedesByName(_ left: SelectingHeader, _ right: SelectingHeader, in headers: HTTPFields)
        -> Bool
    {
        let (name, other) = (headers[left.index].name.canonicalName, headers[right.index].name.canonicalName)
        return (name, left.index) < (other, right.index)
    }

    /// Whether another line represents the header.
    private func isReplaced(_ header: String, hasBody: Bool, rules: KeyRules) -> Bool {
        hasBody && header == "content-type" || replacesCredentials && rules.isReplaced(header)
    }

    @inline(never)
    private mutating func add(secret field: HTTPField, rules: KeyRules) {
        addLine("secret-header", content: "\(field.name.canonicalName) \(rules.digest(of: field.bytes))")
    }

    private mutating func add(_ headers: HTTPFields, at index: Int) {
        guard !hasCacheKey else { return }
        headers[index].name.canonicalName.withBytes { name in
            headers[index].value.withBytes { addLine("header", name: name, value: $0) }
        }
    }
}
