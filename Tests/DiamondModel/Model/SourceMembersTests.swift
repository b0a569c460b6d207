import Diamond
import Testing

@testable import DiamondModel

@Suite("The members of an object") struct SourceMembersTests {
    private let object: [String: JSONValue] = ["id": 1, "name": "Rome", "notes": .null]

    @Test func `an object is the same after it was taken apart`() {
        #expect(SourceMembers(object).object == object)
        #expect(SourceMembers([:]).object == [:])
    }

    @Test func `an object with the same names shares those of another one`() {
        let names = SourceMembers(object).names
        let other: [String: JSONValue] = ["notes": "capital", "name": "Oslo", "id": 2]
        #expect(SourceMembers(other, names: names)?.object == other)
    }

    @Test(
        arguments: [["id": 1, "name": "Rome"], ["id": 1, "name": "Rome", "note": .null], [:]] as [[String: JSONValue]])
    func `an object with other names does not`(other: [String: JSONValue]) {
        #expect(SourceMembers(other, names: SourceMembers(object).names) == nil)
    }

    @Test func `a name is not another one that only looks the same`() {
        let names = SourceMembers(["caf\u{E9}": 1]).names
        #expect(SourceMembers(["cafe\u{301}": 1], names: names) == nil)
    }

    @Test(
        arguments: [
            (["id": 1, "name": "Rome", "notes": .null], true), (["name": "Rome"], true), ([:], true),
            (["id": 2, "name": "Rome", "notes": .null], false), (["name": "Oslo"], false), (["area": 1], false),
            (["id": 1, "name": "Rome", "area": .null], false),
        ] as [([String: JSONValue], Bool)])
    func `members include those of an object with equal values`(other: [String: JSONValue], isIncluded: Bool) {
        #expect(SourceMembers(object).include(other) == isIncluded)
    }

    @Test func `the order of the names does not matter`() {
        let members = SourceMembers(object)
        #expect(SourceMembers(object, names: members.names.reversed()) == members)
    }
}
