import Foundation
import Testing

@testable import Diamond

private enum Order: String, ParameterConvertible { case name, population }

private struct City: Encodable {
    var name: String
    var since: Date?
    var limit: Int?
    var ratio = 0.5
}

@Suite("Parameters from variables") struct ParametersTests {
    private func query(_ parameters: Parameters) throws -> String {
        String(decoding: try parameters.items(.standard).bytes, as: UTF8.self)
    }

    @Test func `a literal accepts variables and optionals in order, and omits nil values`() throws {
        let (text, order, missing, page, list) = ("a b", Order?.some(.name), String?.none, 2 as Int?, ["x", "y"])
        let parameters: Parameters = [
            "q": text, "order": order, "missing": missing, "page": page, "list": list, "limit": 20, "all": true,
            "nothing": nil, "flag": JSONValue.null, "empty": "",
        ]
        #expect(try query(parameters) == "q=a%20b&order=name&page=2&list=x&list=y&limit=20&all=true&flag&empty=")
    }

    @Test(
        arguments: [
            ("text", "text"), ("text".prefix(2), "te"), (true, "true"), (-7, "-7"), (Int8.min, "-128"),
            (UInt64(9_223_372_036_854_775_807), "9223372036854775807"), (UInt64.max, "18446744073709551615"),
            (1.5, "1.5"), (2.0, "2"), (Float(0.1), "0.1"), (Order.population, "population"),
            (URL(string: "https://h/?a=1"), "https%3A%2F%2Fh%2F%3Fa%3D1"),
            (UUID(uuidString: "7a3b0f9e-0000-4000-8000-000000000001"), "7A3B0F9E-0000-4000-8000-000000000001"),
            (["b": [1, 2]], "1&p%5Bb%5D=2"), (JSONValue.integer(3), "3"),
        ] as [((any ParameterConvertible & Sendable)?, String)])
    func `a value is sent as its text`(value: (any ParameterConvertible & Sendable)?, text: String) throws {
        let name = value is [String: [Int]] ? "p%5Bb%5D" : "p"
        #expect(try query(["p": value]) == "\(name)=\(text)")
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a number that is not finite is a typed error when the request is sent`(number: Double) {
        let error = #expect(throws: RequestError.self) { try query(["p": number]) }
        #expect(error?.code == .malformedParameter)
    }

    @Test func `a value is appended unless it is nil`() {
        var parameters: Parameters = ["tag": "a"]
        parameters.append("tag", Order.name)
        parameters.append("tag", String?.none)
        #expect(parameters.values(for: "tag") == ["a", "name"])
    }

    @Test func `a variable or an optional replaces a value in place, and nil removes it`() throws {
        let (page, text, list, order, missing) = (2, "a b", [1, 2], Order?.some(.name), Int?.none)
        var parameters: Parameters = ["page": 1, "q": "x", "gone": 1, "kept": 3]
        parameters["page"] = page
        parameters["q"] = text
        parameters["gone"] = missing
        parameters["list"] = list
        parameters["order"] = order
        parameters["value"] = JSONValue.integer(5)
        parameters["literal"] = ["a": 1, "b": [nil, "x"]]
        #expect(parameters.map(\.name) == ["page", "q", "kept", "list", "order", "value", "literal"])
        #expect(parameters["page"] == 2 && parameters["q"] == "a b" && parameters["list"] == [1, 2])
        #expect(parameters["order"] == "name" && parameters["value"] == 5 && parameters["gone"] == nil)
        #expect(parameters["literal"] == ["a": 1, "b": [nil, "x"]])
    }

    @Test func `the properties of an encodable value become sorted parameters, without nil values`() throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        let city = City(name: "Kyoto", since: Date(timeIntervalSince1970: 0))
        let parameters = try Parameters(encoding: city, using: encoder)
        #expect(parameters.map(\.name) == ["name", "ratio", "since"])
        #expect(parameters["since"] == "1970-01-01T00:00:00Z" && parameters["ratio"] == 0.5)
        #expect(try Parameters(encoding: ["b": 1, "a": 2]).map(\.name) == ["a", "b"])
    }

    @Test(arguments: [7, "text", [1], City(name: "s3cret", ratio: .nan), Data?.none] as [any Encodable & Sendable])
    func `a value that cannot become parameters is a typed error without the value`(
        value: any Encodable & Sendable
    ) {
        let error = #expect(throws: RequestError.self) { try Parameters(encoding: value) }
        #expect(error?.code == .malformedParameter)
        #expect(error?.message.contains("s3cret") == false)
        if value is City { #expect(error?.message.contains("ratio") == true) }
    }
}
