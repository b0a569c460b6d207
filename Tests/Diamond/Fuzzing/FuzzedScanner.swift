import Foundation

@testable import Diamond

/// The scanner of JSON, for any bytes at all, beside ``PlainJSON``; and beside Foundation's reader for one input in a
/// thousand, because that takes a hundred times as long.
///
/// The text ends where the process may read no further. A read beyond it ends the process.
struct FuzzedScanner {
    private static let foundationInterval = 1000

    private let page: TextBeforeGuard
    private var count = 0

    init(capacity: Int) { page = TextBeforeGuard(capacity: capacity) }

    /// Returns the first mistake in reading an input; `nil` for none.
    ///
    /// - Parameter input: The text, after a byte that chooses the maximum depth.
    mutating func failure(of input: UnsafeRawBufferPointer) -> String? {
        guard let choice = input.first, input.count - 1 <= page.capacity else { return nil }
        count += 1
        let text = page.hold(UnsafeRawBufferPointer(rebasing: input.dropFirst()))
        let limit = choice & 4 == 0 ? JSONTape.maximumDepth : 3
        let bytes = Array(text)
        let expected: Expected
        switch PlainJSON.read(bytes) {
        case .tooDeep: return nil
        case .malformed: expected = .malformed
        case .value(let value, let depth): expected = depth > limit ? .tooDeep : .value(value)
        }
        if let failure = Self.failure(ignoring: text, limit, expected) ?? Self.failure(refusing: text, limit, expected)
            ?? Self.failure(isolating: text, limit, expected)
        {
            return failure
        }
        guard count.isMultiple(of: Self.foundationInterval), expected.isWithinLimit else { return nil }
        return FoundationJSON.disagreement(on: bytes)
    }

    /// What the grammar says about a text.
    private enum Expected {
        case value(PlainJSON.Value)
        case malformed
        /// JSON that is nested deeper than the scanner is to read.
        case tooDeep

        var isWithinLimit: Bool { if case .tooDeep = self { false } else { true } }
    }

    private static func failure(
        ignoring text: UnsafeRawBufferPointer, _ limit: Int, _ expected: Expected
    ) -> String? {
        let tape = try? JSONTape(scanning: text, ambiguities: .ignored, maximumDepth: limit)
        guard case .value(let value) = expected else { return tape == nil ? nil : "a text that is no JSON is read" }
        guard let tape else { return "JSON is refused" }
        return withExtendedLifetime(tape) { isEqual(tape.root, value) ? nil : "JSON is read as another value" }
    }

    /// What is ambiguous is refused, and nothing else.
    private static func failure(
        refusing text: UnsafeRawBufferPointer, _ limit: Int, _ expected: Expected
    ) -> String? {
        do throws(JSONError) {
            let tape = try JSONTape(scanning: text, maximumDepth: limit)
            guard case .value(let value) = expected, !value.isAmbiguous else {
                return "an ambiguous text, or no JSON, is read"
            }
            return withExtendedLifetime(tape) { isEqual(tape.root, value) ? nil : "JSON is read as another value" }
        } catch {
            var code = JSONError.Code.malformed
            if case .value(let value) = expected {
                guard value.isAmbiguous else { return "JSON is refused: \(error)" }
                code = .ambiguous
            }
            let isInside = error.offset.map { (0...text.count).contains($0) } ?? false
            return error.code == code && isInside ? nil : "a text is refused in another way: \(error)"
        }
    }

    /// A text without an ambiguity is read as the same value if faults are isolated, and no JSON is refused.
    private static func failure(
        isolating text: UnsafeRawBufferPointer, _ limit: Int, _ expected: Expected
    ) -> String? {
        let tape = try? JSONTape(scanning: text, ambiguities: .isolated, maximumDepth: limit)
        switch expected {
        case .malformed: return tape == nil ? nil : "a text that is no JSON is read where faults are isolated"
        case .tooDeep: return nil
        case .value(let value):
            guard !value.isAmbiguous else { return nil }
            guard let tape else { return "JSON is refused where faults are isolated" }
            return withExtendedLifetime(tape) {
                isEqual(tape.root, value) ? nil : "JSON is read as another value where faults are isolated"
            }
        }
    }

    private static func isEqual(_ element: JSONElement, _ value: PlainJSON.Value) -> Bool {
        switch value {
        case .null: element.kind == .null
        case .false: element.kind == .false
        case .true: element.kind == .true
        case .number(let text): element.kind == .number && element.text.elementsEqual(text) && isEqual(element, text)
        case .string(let units): element.kind == .string && isText(element, units)
        case .array(let values):
            element.kind == .array && element.count == values.count
                && zip(element.elements, values).allSatisfy(isEqual)
        case .object(let members):
            element.kind == .object && element.count == members.count
                && zip(element.members, members).allSatisfy { isText($0.name, $1.name) && isEqual($0.value, $1.value) }
        }
    }

    private static func isText(_ element: JSONElement, _ units: [UInt16]) -> Bool {
        element.string().utf8.elementsEqual(String(decoding: units, as: UTF16.self).utf8)
    }

    private static func isEqual(_ element: JSONElement, _ number: ArraySlice<UInt8>) -> Bool {
        let expected = Double(String(decoding: number, as: UTF8.self))
        guard let expected, expected.isFinite else { return element.double() == nil }
        return element.double() == expected
    }
}

extension PlainJSON.Value {
    /// Whether two readers could read the value differently (RFC 7493).
    fileprivate var isAmbiguous: Bool {
        switch self {
        case .null, .false, .true: false
        case .number(let text): Self.hasNoUse(text)
        case .string(let units): !Self.isWellFormed(units)
        case .array(let values): values.contains(where: \.isAmbiguous)
        case .object(let members):
            Set(members.map(\.name)).count < members.count
                || members.contains { !Self.isWellFormed($0.name) || $0.value.isAmbiguous }
        }
    }

    /// Whether no double is as large as a number, or it is below 10^-100000.
    private static func hasNoUse(_ number: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: number, as: UTF8.self)
        guard let double = Double(text), double.isFinite else { return true }
        let parts = text.split { $0 == "e" || $0 == "E" }
        let digits = parts[0].drop { $0 == "-" }
        guard double == 0, let first = digits.firstIndex(where: { ("1"..."9").contains($0) }) else { return false }
        let zeros = digits[..<first].count { $0 == "0" }
        let exponent = parts.count > 1 ? Double(parts[1]) ?? 0 : 0
        return Double(digits.prefix { $0 != "." }.count - zeros) + exponent <= -100_000
    }

    private static func isWellFormed(_ units: [UInt16]) -> Bool { String(validating: units, as: UTF16.self) != nil }
}

/// Memory whose end is followed by a page that may not be read.
private final class TextBeforeGuard {
    let capacity: Int
    private let start: UnsafeMutableRawPointer
    private let guardStart: UnsafeMutableRawPointer

    init(capacity: Int) {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        self.capacity = (capacity + page - 1) / page * page
        let size = self.capacity + page
        start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        precondition(start != MAP_FAILED, "no memory for a text of \(capacity) bytes")
        guardStart = start + self.capacity
        precondition(mprotect(guardStart, page, PROT_NONE) == 0, "the page after a text can be read")
    }

    deinit { munmap(start, capacity + Int(sysconf(Int32(_SC_PAGESIZE)))) }

    /// Copies a text to the end of the memory.
    func hold(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let place = guardStart - text.count
        if let base = text.baseAddress { place.copyMemory(from: base, byteCount: text.count) }
        return UnsafeRawBufferPointer(start: place, count: text.count)
    }
}
