// SPDX-License-Identifier: UNLICENSED
// Contracts that tests deploy: tokens as they are found in the wild, and payers.
pragma solidity ^0.8.20;

contract Token {
    string public name;
    string public symbol;
    uint8 public decimals;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function mint(address to, uint256 amount) external {
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function transfer(address to, uint256 amount) external virtual returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    /// As the standard wants it, anybody may move nothing on behalf of anybody: the spoofer's way in.
    function transferFrom(address from, address to, uint256 amount) external virtual returns (bool) {
        if (amount > 0) allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
        return true;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    /// Many Transfer logs in one transaction.
    function batch(address[] calldata to, uint256[] calldata amounts) external {
        for (uint256 i = 0; i < to.length; i++) _move(msg.sender, to[i], amounts[i]);
    }

    /// Two logs that are equal in every field.
    function twice(address to, uint256 amount) external {
        totalSupply += 2 * amount;
        balanceOf[to] += 2 * amount;
        emit Transfer(address(0), to, amount);
        emit Transfer(address(0), to, amount);
    }

    /// Moves, then reverts as a whole when told to.
    function transferThenRevert(address to, uint256 amount) external {
        _move(msg.sender, to, amount);
        revert("after the transfer");
    }

    function _move(address from, address to, uint256 amount) internal {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }
}

/// Answers false instead of reverting, with status 1 and no log.
contract QuietToken is Token {
    constructor(string memory name_, string memory symbol_, uint8 decimals_) Token(name_, symbol_, decimals_) {}

    function transfer(address to, uint256 amount) external override returns (bool) {
        if (balanceOf[msg.sender] < amount) return false;
        _move(msg.sender, to, amount);
        return true;
    }
}

/// Pays whom it likes: reverts for some receivers, answers false for others, as it is told from block to block.
contract MoodyToken is Token {
    mapping(address => bool) public isRefused;
    mapping(address => bool) public isIgnored;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) Token(name_, symbol_, decimals_) {}

    function refuse(address to, bool value) external {
        isRefused[to] = value;
    }

    function ignore(address to, bool value) external {
        isIgnored[to] = value;
    }

    function transfer(address to, uint256 amount) external override returns (bool) {
        require(!isRefused[to], "not to this one");
        if (isIgnored[to]) return false;
        _move(msg.sender, to, amount);
        return true;
    }
}

/// Keeps two per cent. `oneLog`: says nothing about it, so that its log overstates what arrived.
contract FeeToken is Token {
    address public constant SINK = address(0xfee);
    bool public oneLog;

    constructor(string memory name_, string memory symbol_, uint8 decimals_, bool oneLog_) Token(name_, symbol_, decimals_) {
        oneLog = oneLog_;
    }

    function transfer(address to, uint256 amount) external override returns (bool) {
        uint256 fee = amount / 50;
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount - fee;
        balanceOf[SINK] += fee;
        emit Transfer(msg.sender, to, amount);
        if (!oneLog) emit Transfer(msg.sender, SINK, fee);
        return true;
    }
}

/// Emits the Transfer signature in forms that are not the standard one. It credits nobody.
contract OddToken is Token {
    bytes32 private constant TRANSFER = keccak256("Transfer(address,address,uint256)");

    constructor(string memory name_, string memory symbol_, uint8 decimals_) Token(name_, symbol_, decimals_) {}

    /// Topics [Transfer], data from|to|value.
    function unindexed(address to, uint256 value) external {
        bytes32 topic = TRANSFER;
        bytes memory data = abi.encode(msg.sender, to, value);
        assembly { log1(add(data, 32), mload(data), topic) }
    }

    /// Topics [Transfer, from], data to|value.
    function halfIndexed(address to, uint256 value) external {
        bytes32 topic = TRANSFER;
        bytes memory data = abi.encode(to, value);
        assembly { log2(add(data, 32), mload(data), topic, caller()) }
    }

    /// Three topics, the value followed by another word.
    function longData(address to, uint256 value) external {
        bytes32 topic = TRANSFER;
        bytes memory data = abi.encode(value, uint256(1));
        assembly { log3(add(data, 32), mload(data), topic, caller(), to) }
    }

    /// Three topics, data of 31 bytes.
    function shortData(address to, uint256 value) external {
        bytes32 topic = TRANSFER;
        bytes memory data = abi.encode(value);
        assembly { log3(add(data, 32), 31, topic, caller(), to) }
    }

    /// The receiver's upper 12 bytes are not zero.
    function dirtyTopic(address to, uint256 value) external {
        bytes32 topic = TRANSFER;
        bytes memory data = abi.encode(value);
        uint256 dirty = uint256(uint160(to)) | (uint256(1) << 200);
        assembly { log3(add(data, 32), mload(data), topic, caller(), dirty) }
    }

    /// Topics [Transfer, from, to, tokenId], no data: an NFT's transfer.
    function nft(address to, uint256 tokenId) external {
        bytes32 topic = TRANSFER;
        assembly { log4(0, 0, topic, caller(), to, tokenId) }
    }
}

contract Nft {
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    string public name = "Nft";
    string public symbol = "NFT";
    mapping(uint256 => address) public ownerOf;

    function mint(address to, uint256 tokenId) external {
        ownerOf[tokenId] = to;
        emit Transfer(address(0), to, tokenId);
    }
}

/// An exchange's distributor: its own calldata says nothing of tokens or receivers.
contract Distributor {
    function distribute(Token token, address[] calldata to, uint256[] calldata amounts) external {
        for (uint256 i = 0; i < to.length; i++) token.transfer(to[i], amounts[i]);
    }
}

/// Pays native coin by internal calls: no log, and no transaction that names the receiver.
contract Payer {
    receive() external payable {}

    function pay(address payable[] calldata to, uint256 each) external payable {
        _pay(to, each);
    }

    /// Pays everyone, then fails as a whole.
    function payThenRevert(address payable[] calldata to, uint256 each) external payable {
        _pay(to, each);
        revert("after paying");
    }

    /// Pays everyone in a frame that fails, and goes on: the transaction succeeds, nobody is paid.
    function payInFailedFrame(address payable[] calldata to, uint256 each) external payable {
        try this.payThenRevert{value: to.length * each}(to, each) {} catch {}
    }

    /// A further frame in between, which succeeds.
    function payNested(address payable[] calldata to, uint256 each) external payable {
        this.pay{value: to.length * each}(to, each);
    }

    function _pay(address payable[] calldata to, uint256 each) private {
        for (uint256 i = 0; i < to.length; i++) {
            (bool paid, ) = to[i].call{value: each}("");
            require(paid, "not paid");
        }
    }
}

/// Hands all it is created with to one receiver, without a call.
contract SelfDestructPayer {
    constructor(address payable to) payable {
        selfdestruct(to);
    }
}
