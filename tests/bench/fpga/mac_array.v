// The multiplier stage of edgekit.cl (ek_mac, CONV) by hand: LANES x VEC int8 products a cycle,
// weights of a tile kept on chip while its pixels pass. Words are taken where valid and ready.
module mac_array #(parameter VEC = 8, LANES = 8, DEPTH = 512) (
    input clk, input reset,
    input [31:0] pixels, steps,               // of a tile
    input taps_valid, output taps_ready, input [8*VEC-1:0] taps,
    input weights_valid, output weights_ready, input [8*VEC*LANES-1:0] weights,
    output reg sums_valid, output reg [32*LANES-1:0] sums
);
    reg [8*VEC*LANES-1:0] kept [0:DEPTH-1];
    reg [31:0] pixel, step;
    wire fresh = pixel == 0;
    wire go = taps_valid && (!fresh || weights_valid);
    assign taps_ready = go;
    assign weights_ready = go && fresh;

    // Cycle 1: the step's weights, as they come or as they were kept.
    reg s1, s1_first, s1_last;
    reg [8*VEC-1:0] s1_taps;
    reg [8*VEC*LANES-1:0] s1_weights;
    always @(posedge clk) begin
        s1 <= go && !reset;
        s1_first <= step == 0;
        s1_last <= step == steps - 1;
        s1_taps <= taps;
        s1_weights <= fresh ? weights : kept[step];
        if (go && fresh) kept[step] <= weights;
        if (reset) begin
            pixel <= 0;
            step <= 0;
        end else if (go) begin
            step <= step == steps - 1 ? 0 : step + 1;
            if (step == steps - 1) pixel <= pixel == pixels - 1 ? 0 : pixel + 1;
        end
    end

    // Cycle 2: products. Cycle 3: their sum joins the lane's.
    reg s2, s2_first, s2_last;
    always @(posedge clk) begin
        s2 <= s1 && !reset;
        s2_first <= s1_first;
        s2_last <= s1_last;
        sums_valid <= s2 && s2_last && !reset;
    end
    genvar l, v;
    generate
        for (l = 0; l < LANES; l = l + 1) begin : lane
            reg signed [15:0] product [0:VEC-1];
            for (v = 0; v < VEC; v = v + 1) begin : term
                wire signed [7:0] a = s1_taps[8*v +: 8], w = s1_weights[8*(l*VEC + v) +: 8];
                always @(posedge clk) product[v] <= a * w;
            end
            reg signed [31:0] total;
            integer i;
            always @* begin
                total = 0;
                for (i = 0; i < VEC; i = i + 1) total = total + product[i];
            end
            wire signed [31:0] acc = sums[32*l +: 32];
            always @(posedge clk) if (s2) sums[32*l +: 32] <= s2_first ? total : acc + total;
        end
    endgenerate
endmodule
