import Diamond
import Foundation
import Testing

@testable import DiamondModel

/// Values read from a text are those that are read from JSON.
@Suite("Values read from a text") struct TextElementTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "-0.0", "7", "-7", "255", "256", "1.0", "1e3", "1.5", "-2.5e-3", "1e300",
        "9007199254740993", "999999999999999999", "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "0.1000000000000000055511151231257827", #""""#, #""a""#, #""fifteen bytes..""#, #""sixteen bytes...""#,
        #""\u00e9\n""#, #""e\u0301""#, #""2031-12-24T18:30:00Z""#, #""2031-12-24T18:30:00.123456+01:00""#,
        #""https://example.com/a?b=c""#, #""example""#, "[]", "[1,2]", "[1,null]", #"["a","b"]"#, #"["a",1]"#,
        #"[["a"],[]]"#, #"{"a":1}"#,
    ])
    func `a value is read from a text as from JSON, or is left to that`(text: String) throws {
        let item = try JSONItem(reading: Data(text.utf8))
        func check<Value: ModelValue>(_ type: Value.Type) throws {
            guard case .element(let element, let owner) = item else { return }
            var repairs = RepairLog()
            let expected = Value(json: item.value, repairs: &repairs)
            let read = TextElement.reader(of: type)?(TextElement(element: element))
            withExtendedLifetime(owner) {
                if let read { #expect(expected.map { ExactEquality.areEqual($0, read) } == true, "\(type) of \(text)") }
                // Zeros with different signs are equal.
                if let read = read as? Double { #expect(expected.map { "\($0)" } == "\(read)", "\(type) of \(text)") }
            }
            if read != nil { #expect(repairs.repairs.isEmpty) }
        }
        try check(String.self)
        try check(Bool.self)
        try check(Double.self)
        try check(Float.self)
        try check(Int.self)
        try check(Int8.self)
        try check(UInt8.self)
        try check(Int32.self)
        try check(UInt64.self)
        try check(Date.self)
        try check(URL.self)
        try check(Decimal.self)
        try check([Int].self)
        try check([String].self)
        try check([[String]].self)
        try check(JSONValue.self)
    }

    @Test func `values of the usual types are read from a text`() throws {
        func reads<Value: Equatable>(_ text: String, as value: Value) throws -> Bool {
            guard case .element(let element, let owner) = try JSONItem(reading: Data(text.utf8)) else { return false }
            return withExtendedLifetime(owner) {
                TextElement.reader(of: Value.self)?(TextElement(element: element)) == value
            }
        }
        #expect(try reads(#""Nara""#, as: "Nara"))
        #expect(try reads("7", as: 7))
        #expect(try reads("7", as: UInt16(7)))
        #expect(try reads("7.5", as: 7.5))
        #expect(try reads("true", as: true))
        #expect(try reads(#""1970-01-01T00:00:01Z""#, as: Date(timeIntervalSince1970: 1)))
        #expect(try reads(#"["a"]"#, as: ["a"]))
    }
}
