package import HTTPTypes

/// The fields for one kind of cache, such as `CDN-Cache-Control` (RFC 9213).
extension CacheControl {
    /// Reads the first targeted field of a response that is valid and not empty; otherwise `Cache-Control` (RFC 9213
    /// section 2.2).
    ///
    /// - Parameter targets: the cache's targeted fields, the most specific first.
    package init(_ headers: HTTPFields, targets: [HTTPField.Name]) {
        for target in targets where headers.contains(target) {
            guard let members = StructuredField.dictionary(headers[values: target]), !members.isEmpty else { continue }
            self.init([:])
            isTargeted = true
            for (name, value) in members { add(name, value: value) }
            return
        }
        self.init(headers)
    }

    /// Adds a directive. A value of another type than the directive's is not read (section 2.1). As a lifetime it is 0,
    /// because an invalid lifetime makes a response stale (RFC 9111 section 4.2.1).
    private mutating func add(_ name: String, value: StructuredField.Item) {
        switch name {
        case "max-age": maxAge = Self.seconds(value) ?? 0
        case "s-maxage": sharedMaxAge = Self.seconds(value) ?? 0
        case "stale-while-revalidate": staleWhileRevalidate = Self.seconds(value)
        case "stale-if-error": staleIfError = Self.seconds(value)
        case "no-cache": Self.add(value, to: &noCacheFields, orSet: &noCache)
        case "private": Self.add(value, to: &privateFields, orSet: &isPrivate)
        case "immutable": isImmutable = value == .boolean(true)
        case "must-revalidate": mustRevalidate = value == .boolean(true)
        case "must-understand": mustUnderstand = value == .boolean(true)
        case "no-store": noStore = value == .boolean(true)
        case "no-transform": noTransform = value == .boolean(true)
        case "proxy-revalidate": proxyRevalidate = value == .boolean(true)
        case "public": isPublic = value == .boolean(true)
        default: break
        }
    }

    private static func seconds(_ value: StructuredField.Item) -> Int64? {
        guard case .integer(let seconds) = value, seconds >= 0 else { return nil }
        return min(seconds, 1 << 31)
    }

    /// Adds the field names of a string. If it is not a list of names, sets the flag instead, as `true` does.
    private static func add(_ value: StructuredField.Item, to fields: inout [String], orSet flag: inout Bool) {
        switch value {
        case .boolean(let isSet): flag = isSet
        case .string(let list):
            let names = list.listElements.filter { !$0.isEmpty }
            let areNames = !names.isEmpty && names.allSatisfy { HTTPField.Name($0) != nil }
            if areNames { fields = names } else { flag = true }
        default: break
        }
    }
}
